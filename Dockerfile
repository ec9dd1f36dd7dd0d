# CoRP's server on a CPU. For NVIDIA GPUs build with --build-arg TORCH_INDEX=https://pypi.org/simple
#
#   docker build -t corp .
#   docker run --init --stop-timeout 30 -p 127.0.0.1:8000:8000 -v corp-data:/data -v /models:/models:ro corp
#
# The server has no authentication: publish its port on loopback, or behind a proxy that has.
FROM python:3.11-slim-bookworm

# PyPI's torch for Linux brings 3 GB of CUDA libraries, which a CPU does not need.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu

ENV PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PYTHONUNBUFFERED=1 \
    HF_HOME=/data/cache/huggingface \
    NUMBA_CACHE_DIR=/data/cache/numba \
    XDG_CACHE_HOME=/data/cache

# In /etc/passwd and with a home, because torch asks for both.
RUN useradd --create-home --uid 10001 corp \
    && mkdir /data \
    && chown corp:corp /data

WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY verify verify
COPY population population
COPY corp corp
COPY server server
RUN pip install --extra-index-url "${TORCH_INDEX}" -c constraints.txt '.[server,math]'

USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 8000
STOPSIGNAL SIGTERM

HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/readyz', timeout=4)"]

ENTRYPOINT ["corp"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000", "--allow-remote", "--data", "/data"]
