# npm run pack && docker build -t plinth .
FROM node:26-bookworm-slim AS install
WORKDIR /app
COPY dist/plinth-*.tgz /packages/
# The image has its own Node: remove the Node that comes with the package, and files for other platforms.
RUN rm -f /packages/plinth-client-*.tgz \
 && echo '{"private":true}' > package.json \
 && npm install --ignore-scripts --no-audit --no-fund --no-package-lock --cache /tmp/npm /packages/plinth-*.tgz \
 && rm -rf node_modules/node-linux-* \
 && rm -f node_modules/@hyzyla/pdfium/dist/*base64* node_modules/@hyzyla/pdfium/dist/*.cdn.* \
 && find node_modules/plinth/node_modules/better-sqlite3/prebuilds -type f ! -name "linux-$(node -p process.arch).node" -delete \
 && find node_modules -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.cts' -o -name '*.d.mts' \) -delete
# Fill the compile cache now, because the root file system is read-only at run time.
RUN SUITE_DATA=/tmp/data node node_modules/plinth/dist/bin.cjs user list > /dev/null
# A new named volume inherits the owner of the folder. Remove what only the installation needs: package managers
# (scanners report each of their vulnerabilities), documentation and translations.
RUN mkdir -p /data /etc/plinth && chown node:node /data && chmod 700 /data \
 && ln -s /app/node_modules/plinth/dist/bin.cjs /usr/local/bin/plinth \
 && rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/yarn* /opt/yarn* \
      /usr/local/include /usr/local/share /usr/share/man /usr/share/locale /var/lib/apt/lists /var/cache/apt \
      /packages ~/.npm /tmp/* \
 && find /usr/share/doc -type f ! -name copyright -delete

FROM scratch
LABEL org.opencontainers.image.title=Plinth \
      org.opencontainers.image.version=2.0.0 \
      org.opencontainers.image.description="Identity, storage and payments" \
      org.opencontainers.image.licenses=MIT
COPY --from=install / /
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    NODE_ENV=production SUITE_DATA=/data SUITE_HOST=0.0.0.0
USER node
# Holds .env and secrets/, as written by "plinth init".
WORKDIR /etc/plinth
VOLUME /data
EXPOSE 8080 8081 8082 8083 8084
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s CMD ["plinth", "health"]
CMD ["node", "--max-semi-space-size=8", "/app/node_modules/plinth/dist/bin.cjs", "start"]
