#!/usr/bin/env bash
# A real SLURM on this machine, for the cluster tests: munge, slurmctld and virtual nodes, as root,
# without systemd or cgroups.
#   slurm.sh start HOME [NODES] [CPUS] [MEM_MB]     start; HOME holds all state
#   slurm.sh stop HOME                              stop what was started, by pid file
#   slurm.sh kill HOME NODE                         kill -9 a node's daemon and all that runs on it
#   slurm.sh install                                install Debian's packages if they are not there
set -euo pipefail

install() {
  command -v slurmctld >/dev/null && command -v munged >/dev/null && return
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -q
  apt-get install -y -q --no-install-recommends slurm-wlm munge
}

alive() { [ -s "$1" ] && kill -0 "$(cat "$1")" 2>/dev/null; }

wait_for() {
  for _ in $(seq 150); do timeout 5 "$@" >/dev/null 2>&1 && return 0; sleep 0.2; done
  echo "gave up waiting for: $*" >&2
  return 1
}

write_config() {
  local home=$1 nodes=$2 cpus=$3 mem=$4 host names="" lines=""
  host=$(hostname -s)
  for i in $(seq "$nodes"); do
    lines+="NodeName=node$i NodeHostname=$host NodeAddr=127.0.0.1 Port=$((27100 + i)) CPUs=$cpus RealMemory=$mem Feature=node$i State=UNKNOWN"$'\n'
    names+="${names:+,}node$i"
  done
  cat > "$home/etc/slurm.conf" <<CONF
ClusterName=fewfold
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort=26817
SlurmdPort=26818
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$home/munge/munge.socket.2
StateSaveLocation=$home/state
SlurmdSpoolDir=$home/spool/%n
SlurmctldPidFile=$home/run/slurmctld.pid
SlurmdPidFile=$home/run/slurmd-%n.pid
SlurmctldLogFile=$home/log/slurmctld.log
SlurmdLogFile=$home/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory,CR_LLN
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,bf_interval=2
ReturnToService=1
MpiDefault=none
MinJobAge=7200
KillWait=5
SlurmdTimeout=30
SlurmdParameters=config_overrides
DefMemPerCPU=500
EnforcePartLimits=ALL
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
${lines}PartitionName=main Nodes=$names Default=YES MaxTime=INFINITE DefaultTime=60 State=UP OverSubscribe=NO
CONF
  # Debian's cgroup plugin is looked for even with task/none: keep it off.
  printf 'CgroupAutomount=no\nConstrainCores=no\n' > "$home/etc/cgroup.conf"
}

start() {
  local home=$1 nodes=${2:-2} cpus=${3:-2} mem=${4:-6000}
  if ! alive "$home/run/slurmctld.pid" && (: </dev/tcp/127.0.0.1/26817) 2>/dev/null; then
    echo "another SLURM of this script uses port 26817 ($(readlink /etc/slurm/slurm.conf)): stop it first" >&2
    exit 3
  fi
  mkdir -p "$home"/{etc,run,log,state,spool,munge}
  chmod 755 "$home" "$home"/*
  [ -s "$home/etc/munge.key" ] || { head -c 128 /dev/urandom > "$home/etc/munge.key"; chmod 400 "$home/etc/munge.key"; }
  alive "$home/run/munged.pid" || munged --key-file="$home/etc/munge.key" --socket="$home/munge/munge.socket.2" \
    --pid-file="$home/run/munged.pid" --log-file="$home/log/munged.log" --seed-file="$home/state/munge.seed" --force
  wait_for munge -n -S "$home/munge/munge.socket.2"
  write_config "$home" "$nodes" "$cpus" "$mem"
  export SLURM_CONF=$home/etc/slurm.conf
  # Snakemake's plugins delete every SLURM_* variable inside jobs, so the default place must work too.
  mkdir -p /etc/slurm
  if [ -e /etc/slurm/slurm.conf ] && [ ! -L /etc/slurm/slurm.conf ]; then
    echo "/etc/slurm/slurm.conf exists: this machine has a SLURM of its own; not touched" >&2
    exit 3
  fi
  ln -sfn "$home/etc/slurm.conf" /etc/slurm/slurm.conf
  alive "$home/run/slurmctld.pid" || slurmctld -i
  wait_for scontrol ping
  for i in $(seq "$nodes"); do
    mkdir -p "$home/spool/node$i"
    alive "$home/run/slurmd-node$i.pid" || slurmd -N "node$i"
  done
  wait_for bash -c "test \$(sinfo -h -N -t idle,alloc,mix -o %N | sort -u | wc -l) -eq $nodes"
}

kill_node() {
  local home=$1 node=$2 environ pid parent doomed=""
  doomed=$(cat "$home/run/slurmd-$node.pid")
  # A job's processes have the node's name, and SLURM's process that watches over them above.
  for environ in /proc/[0-9]*/environ; do
    tr '\0' '\n' 2>/dev/null < "$environ" | grep -qx "SLURMD_NODENAME=$node" || continue
    pid=${environ#/proc/} pid=${pid%/environ}
    doomed+=" $pid"
    parent=$(awk '/^PPid:/ {print $2}' "/proc/$pid/status" 2>/dev/null || true)
    [ "$(cat "/proc/${parent:-0}/comm" 2>/dev/null || true)" = slurmstepd ] && doomed+=" $parent"
  done
  for pid in $doomed; do kill -9 "$pid" 2>/dev/null || true; done
  rm -f "$home/run/slurmd-$node.pid"
}

stop() {
  local home=$1 pid_file pid
  export SLURM_CONF=$home/etc/slurm.conf
  # Jobs outlive the daemons that started them.
  timeout 10 scancel --quiet --user=root 2>/dev/null || true
  for _ in $(seq 100); do [ -z "$(timeout 5 squeue -h 2>/dev/null)" ] && break; sleep 0.2; done
  for pid_file in "$home"/run/slurmd-*.pid "$home/run/slurmctld.pid" "$home/run/munged.pid"; do
    [ -s "$pid_file" ] || continue
    pid=$(cat "$pid_file")
    case "$(cat "/proc/$pid/comm" 2>/dev/null || true)" in
      slurmd | slurmctld | munged)
        kill "$pid" 2>/dev/null || true
        for _ in $(seq 100); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done ;;
    esac
    rm -f "$pid_file"
  done
  [ "$(readlink /etc/slurm/slurm.conf 2>/dev/null || true)" = "$home/etc/slurm.conf" ] && rm -f /etc/slurm/slurm.conf
  true
}

case "$1" in
  kill) kill_node "${@:2}" ;;
  *) "$@" ;;
esac
