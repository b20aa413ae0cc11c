# hyperlabel's command and studio. Build: docker build -t hyperlabel .
# Label a table of this folder:   docker run --rm -v "$PWD:/work" hyperlabel label votes.csv -o labels.csv
# The studio, at the address it prints (it listens on 127.0.0.1 alone, so the container shares the host's network):
#                                 docker run --rm -it --network host -v "$PWD:/work" hyperlabel studio items.csv --no-open
FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml README.md CHANGELOG.md LICENSE constraints.txt ./
COPY src src
RUN PIP_CONSTRAINT=constraints.txt pip wheel --no-cache-dir --wheel-dir /wheels '.[studio,sklearn,pandas,duckdb]'

FROM python:3.13-slim
COPY --from=build /wheels /wheels
# hadolint ignore=DL3013 # there is one version to find: the wheel that was just built
RUN pip install --no-cache-dir --no-index --find-links /wheels 'hyperlabel[studio,sklearn,pandas,duckdb]' \
    && rm -rf /wheels \
    && useradd --create-home --uid 1000 hyperlabel
USER 1000
WORKDIR /work
ENTRYPOINT ["hyperlabel"]
CMD ["--help"]
