# The image of the attacher, for the appended Job that runs `postrender attach`.
#
#     docker build --tag postrender:0.1.0 .
#
# Python 3.12, because Python 3.13 by default rejects the certificates of clusters whose CA has no key
# identifier (such as EKS). The tag moves. To pin an image, append the digest that
# `docker buildx imagetools inspect python:3.12-slim-trixie` prints:
# python:3.12-slim-trixie@sha256:...
ARG BASE=python:3.12-slim-trixie

FROM ${BASE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src

# The files that seldom change come first, so that their layers stay in the build cache. Only wheels
# are installed, because the image has no compiler.
COPY docker docker
RUN pip install --require-hashes --only-binary :all: --requirement docker/build-requirements.txt
RUN python -m venv --without-pip /opt/postrender \
 && pip --python /opt/postrender install --no-compile --no-deps --require-hashes \
        --only-binary :all: --requirement docker/requirements.txt

# Byte code is not compared with its source (unchecked-hash), because the root is read-only.
COPY LICENSE README.md pyproject.toml ./
COPY postrender postrender
RUN pip wheel --no-deps --no-index --no-build-isolation --check-build-dependencies \
        --wheel-dir dist . \
 && pip --python /opt/postrender install --no-compile --no-deps --no-index dist/*.whl \
 && python -m compileall -q --invalidation-mode unchecked-hash /opt/postrender/lib

FROM ${BASE}
# The base image has no byte code of the standard library, and would compile it at each start.
RUN python -m compileall -q --invalidation-mode unchecked-hash -x site-packages \
        /usr/local/lib/python3.*
COPY --from=build /opt/postrender /opt/postrender

ARG VERSION=0.1.0
ARG SOURCE=
LABEL org.opencontainers.image.title="postrender" \
      org.opencontainers.image.description="The attacher: owns ConfigMap revisions in a cluster" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.source="${SOURCE}"

# The container writes nothing, and its user has no name and no home.
ENV HOME=/nonexistent PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
ENTRYPOINT ["/opt/postrender/bin/postrender"]
# Without arguments the image renders stdin, because kustomize and kpt pass none to a function.
CMD []
