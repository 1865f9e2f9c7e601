# The image of the attacher, for the appended Job that runs `postrender attach`.
#
#     docker build --tag postrender:0.1.0 .
#
# Python 3.12, because Python 3.13 by default rejects the certificates of clusters whose CA has no key
# identifier (such as EKS). The digest pins one image of this tag, and .github/dependabot.yml proposes newer
# images. To use the newest image: --build-arg BASE=python:3.12-slim-trixie
#
# With the same base image, sources and SOURCE_DATE_EPOCH, two builds have the same content.
ARG BASE=python:3.12-slim-trixie@sha256:57cd7c3a7a273101a6485ba99423ee568157882804b1124b4dd04266317710de

FROM ${BASE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
# pip imports some of the installed packages, and would leave byte code with the time of the build.
ENV PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0
WORKDIR /src

# The files that seldom change are copied first, so that their layers stay in the build cache. pip
# installs only wheels, because the image does not have a compiler.
COPY docker docker
RUN pip install --require-hashes --only-binary :all: --requirement docker/build-requirements.txt
RUN python -I -m venv --without-pip /opt/postrender \
 && pip --python /opt/postrender install --no-compile --no-deps --require-hashes \
        --only-binary :all: --requirement docker/requirements.txt

# Python does not compare this byte code with its source (unchecked-hash), because the root filesystem
# is read-only.
COPY LICENSE README.md hatch_build.py pyproject.toml ./
COPY postrender postrender
ARG COMMIT=
RUN if [ -n "$COMMIT" ]; then echo "$COMMIT" > postrender/commit.txt; fi \
 && pip wheel --no-deps --no-index --no-build-isolation --check-build-dependencies \
        --wheel-dir dist . \
 && pip --python /opt/postrender install --no-compile --no-deps --no-index dist/*.whl \
 && python -I -m compileall -q --invalidation-mode unchecked-hash /opt/postrender/lib

# The final stage contains Python, postrender, and the libraries that they load. It does not contain a
# shell, a package manager, or a setuid file.
ARG SOURCE_DATE_EPOCH=0
RUN python docker/collect.py /image /opt/postrender

FROM scratch
COPY --from=build /image /

ARG VERSION=0.1.0
ARG SOURCE=
LABEL org.opencontainers.image.title="postrender" \
      org.opencontainers.image.description="The attacher: sets the owners of ConfigMap revisions" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.source="${SOURCE}"

# The container does not write files. Its user does not have a name or a home folder.
ENV PATH=/opt/postrender/bin:/usr/local/bin HOME=/nonexistent PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
ENTRYPOINT ["/opt/postrender/bin/postrender"]
# Without arguments, the image renders stdin. A function of kustomize gets no arguments, and needs an
# image with CMD ["fn"].
CMD []
