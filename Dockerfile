# everlearn serve in a container. Build:  docker build -t everlearn .
# Run:  docker run -p 127.0.0.1:8765:8765 -v everlearn:/data -e EVERLEARN_TOKEN=... everlearn
FROM python:3.12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends g++ ninja-build && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(ls /wheels/everlearn-*.whl)[serve,postgres,onnx]" && rm -rf /wheels \
 && useradd --system --uid 10001 --home-dir /data --create-home everlearn
USER everlearn
WORKDIR /data
VOLUME /data
EXPOSE 8765
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8765/readyz', timeout=2)"]
# The container's own address; publish the port to loopback or to a proxy with TLS. SIGTERM stops it after the
# current block.
STOPSIGNAL SIGTERM
ENTRYPOINT ["everlearn", "serve", "--host", "0.0.0.0", "--port", "8765"]
CMD ["/data/store.everlearn"]
