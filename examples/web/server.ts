import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { createServer } from "parley-a2a";
import { memoryStore } from "parley-a2a/store/memory";
import { writer } from "./agent.js";

interface Running {
  /** Of the page. */
  readonly url: string;
  /** Of the agent, which is of another origin. */
  readonly agent: string;
  stop(): Promise<void>;
}

/** The page, and the agent that it calls. Ports of 0 are any. */
export async function start(port: number, agentPort: number): Promise<Running> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("chat.tsx", import.meta.url))],
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    conditions: ["browser"],
    define: { "process.env.NODE_ENV": '"production"' },
    // In a clone esbuild warns of imports that it leaves out, and that have no effect.
    logLevel: "error",
  });
  const page = `<!doctype html><meta charset="utf-8"><title>Chat</title><div id="page"></div>
<script type="module">${outputFiles[0]?.text.replaceAll("</script", "<\\/script")}</script>`;
  const pages = createHttpServer((_, response) => {
    response.setHeader("content-type", "text/html; charset=utf-8").end(page);
  });
  await new Promise<void>((resolve) => pages.listen(port, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
  const server = await createServer({
    agent: writer,
    store: memoryStore(),
    port: agentPort,
    grpcPort: false,
    cors: [url],
  });
  return {
    url,
    agent: `http://127.0.0.1:${server.port}`,
    stop: async () => {
      pages.closeAllConnections();
      pages.close();
      await server.close();
    },
  };
}
