"""The doctor says what is there and what to fix."""

import pytest

from fewfold import doctor


def test_everything_is_looked_at(tmp_path):
    found = doctor.examine(tmp_path)
    assert {f.what for f in found} >= {
        "fewfold", "packages", "workflow", "cores", "memory", "disk", "mirror", "datasets",
        "cache between runs", "cluster", "caches", "compiled code",
    }  # fmt: skip
    assert all(f.advice for f in found if f.level != "ok")
    lines = []
    doctor.show(found, lines.append)
    assert len(lines) >= len(found) + 1


def test_faults_are_found(tmp_path):
    assert doctor.check_mirror(str(tmp_path / "none")).level == "error"
    assert doctor.check_mirror(str(tmp_path)).level == "ok"
    assert doctor.check_output_cache(str(tmp_path / "none")).level == "error"
    assert doctor.check_disk(tmp_path / "new" / "folder").level in ("ok", "warning")
    assert doctor.check_profile("no-such-profile")[0].level == "error"
    broken = tmp_path / "profile"
    broken.mkdir()
    (broken / "config.yaml").write_text("executor: [unclosed\n")
    assert doctor.check_profile(str(broken))[0].level == "error"
    (broken / "config.yaml").write_text("executor: nosuchplugin\n")
    assert "nosuchplugin" in doctor.check_profile(str(broken))[-1].found


@pytest.mark.parametrize("profile", ["default", "slurm"])
def test_our_own_profiles_are_read(profile):
    assert doctor.check_profile(profile)[0].level == "ok"
