# fewfold and everything it needs, from the lock file.
#   docker build --tag fewfold .
#   docker run --rm --user "$(id -u)" --volume "$PWD:/data" fewfold label my.csv --target species
# For Apptainer: apptainer build fewfold.sif docker-daemon://fewfold:latest
FROM python:3.11-slim AS build
WORKDIR /source
COPY . .
RUN pip install --no-cache-dir hatchling==1.33.0 \
    && python -m hatchling build -t wheel -d /wheels

FROM python:3.11-slim
COPY dependencies/dev.lock /tmp/dev.lock
COPY --from=build /wheels /tmp/wheels
RUN pip install --no-cache-dir --no-deps --require-hashes --requirement /tmp/dev.lock \
    && pip install --no-cache-dir --no-deps /tmp/wheels/*.whl \
    && rm -r /tmp/dev.lock /tmp/wheels
# Any user may run it: compiled code and Snakemake's sources go here.
ENV XDG_CACHE_HOME=/tmp/cache HOME=/tmp
WORKDIR /data
USER 1000
ENTRYPOINT ["fewfold"]
CMD ["--help"]
