# npm run pack && docker build -t plinth .
FROM node:26-bookworm-slim AS install
WORKDIR /app
COPY dist/plinth-*.tgz /packages/
# The image has its own Node: the one that comes with the package goes, and what is for other machines.
RUN rm -f /packages/plinth-client-*.tgz \
 && echo '{"private":true}' > package.json \
 && npm install --ignore-scripts --no-audit --no-fund --no-package-lock /packages/plinth-*.tgz \
 && rm -rf node_modules/node-linux-* node_modules/better-sqlite3/deps \
 && find node_modules/better-sqlite3/prebuilds -type f ! -name "linux-$(node -p process.arch).node" -delete
# Compiled ahead, since the root is read-only when it runs.
RUN SUITE_DATA=/tmp/data node node_modules/plinth/dist/bin.cjs user list > /dev/null

FROM node:26-bookworm-slim
LABEL org.opencontainers.image.title=Plinth \
      org.opencontainers.image.description="Identity, storage and payments" \
      org.opencontainers.image.licenses=MIT
COPY --from=install /app /app
# A new named volume takes over the owner of the folder.
RUN mkdir -p /data /etc/plinth && chown node:node /data && chmod 700 /data \
 && ln -s /app/node_modules/plinth/dist/bin.cjs /usr/local/bin/plinth
ENV NODE_ENV=production SUITE_DATA=/data SUITE_HOST=0.0.0.0
USER node
# .env and secrets, as "plinth init" writes them.
WORKDIR /etc/plinth
VOLUME /data
EXPOSE 8080 8081 8082 8083 8084
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s CMD ["plinth", "health"]
CMD ["node", "/app/node_modules/plinth/dist/bin.cjs", "start"]
