import { relative } from "node:path";
import { createContext, runInContext } from "node:vm";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { build as bundle } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { completed } from "../../src/agent/event.js";
import { createServer, type Server } from "../../src/server/create-server.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { build, root } from "../e2e/support/build.js";

/** The most that the client may be, in bytes, for a page that imports all of it but the authentication flows. */
const MOST = 60 * 1024;

/** What a page gets that imports the package as it is published, for a browser. */
async function bundled(contents: string): Promise<{ code: string; inputs: readonly string[] }> {
  const { outputFiles, metafile } = await bundle({
    stdin: { contents, resolveDir: root },
    bundle: true,
    minify: true,
    // Fails on every module of Node.js.
    platform: "browser",
    format: "iife",
    globalName: "client",
    write: false,
    metafile: true,
    logLevel: "silent",
  });
  return { code: outputFiles[0]?.text ?? "", inputs: Object.keys(metafile.inputs) };
}

/** What a page loads before it calls anybody: without what is imported when a call needs it, which bundlers put into files of their own. */
async function loadedAtFirst(contents: string): Promise<string> {
  const { outputFiles, metafile } = await bundle({
    stdin: { contents, resolveDir: root },
    bundle: true,
    minify: true,
    platform: "browser",
    format: "esm",
    splitting: true,
    outdir: root,
    write: false,
    metafile: true,
    logLevel: "silent",
  });
  const wanted = new Set(["stdin.js"]);
  for (const path of wanted)
    for (const { kind, path: other } of metafile.outputs[path]?.imports ?? [])
      if (kind === "import-statement") wanted.add(other);
  const files = outputFiles.filter(({ path }) => wanted.has(relative(root, path)));
  expect(files.length).toBe(wanted.size);
  expect(outputFiles.length).toBeGreaterThan(files.length);
  return files.map(({ text }) => text).join("");
}

describe("the client in a browser's bundle", () => {
  beforeAll(() => build(), 120_000);
  let server: Server | undefined;
  afterAll(() => server?.close({ graceMs: 0 }));

  it("is small, and has nothing of Node.js", async () => {
    const page = `export * from "parley-a2a/client"; export { A2AService } from "parley-a2a/gen";`;
    const { inputs } = await bundled(page);
    const code = await loadedAtFirst(page);
    expect(inputs.filter((path) => /^dist\/(?:src|gen)\//.test(path))).toEqual([]);
    expect(inputs.filter((path) => path.startsWith("dist/web/")).length).toBeGreaterThan(1);
    expect(code).not.toMatch(/\bnode:|require\(/);
    const sizes = { gzip: gzipSync(code, { level: 9 }).length, brotli: brotliCompressSync(code).length };
    process.stdout.write(`the client: ${code.length} bytes, ${JSON.stringify(sizes)} compressed\n`);
    expect(sizes.brotli).toBeLessThan(MOST);
  });

  it("calls a server over each of its bindings where there is nothing but what the web has", async () => {
    server = await createServer({
      agent: {
        card: { name: "Echo", description: "Says it again.", version: "1.0.0" },
        async *execute(turn) {
          yield completed(turn.text);
        },
      },
      store: memoryStore(),
      host: "127.0.0.1",
      port: 0,
      grpcPort: 0,
    });
    const { code } = await bundled(`
      import { createClient } from "@connectrpc/connect";
      import { A2AError, clientError, connect, createTransport } from "parley-a2a/client";
      import { A2AService } from "parley-a2a/gen";

      export async function calls(url) {
        const said = [];
        for (const binding of ["JSONRPC", "HTTP+JSON", "CONNECT", "GRPC-WEB"]) {
          const transport = createTransport(binding, url);
          const rpc = createClient(A2AService, transport);
          const message = { messageId: crypto.randomUUID(), role: 1, parts: [{ content: { case: "text", value: "¿Qué?" } }] };
          const { payload } = await rpc.sendMessage({ message });
          const texts = [payload.value.status.message.parts[0].content.value];
          const again = { ...message, messageId: crypto.randomUUID() };
          for await (const event of rpc.sendStreamingMessage({ message: again })) texts.push(event.payload.case);
          const error = clientError(await rpc.getTask({ id: "nowhere" }).catch((error) => error));
          said.push([binding, ...texts, error instanceof A2AError, error.reason]);
          await transport.close();
        }
        const client = await connect(url);
        const updates = [];
        for await (const { kind } of client.stream("Hello")) updates.push(kind);
        said.push([client.card.name, client.interface.protocolBinding, ...updates]);
        return JSON.stringify(said);
      }`);
    const web = {
      fetch,
      Headers,
      Request,
      Response,
      TextDecoder,
      TextEncoder,
      AbortController,
      AbortSignal,
      URL,
      URLSearchParams,
    };
    const context = createContext({
      ...web,
      crypto,
      setTimeout,
      clearTimeout,
      atob,
      btoa,
      DOMException,
      ReadableStream,
      queueMicrotask,
      performance,
    });
    runInContext(code, context);
    const globals = runInContext(
      "[typeof process, typeof Buffer, typeof require, typeof setImmediate].join()",
      context,
    );
    expect(globals).toBe("undefined,undefined,undefined,undefined");
    const said = JSON.parse(await runInContext(`client.calls("http://127.0.0.1:${server.port}")`, context));
    expect(said).toEqual([
      ...["JSONRPC", "HTTP+JSON", "CONNECT", "GRPC-WEB"].map((binding) => [
        binding,
        "¿Qué?",
        "task",
        "statusUpdate",
        true,
        "TASK_NOT_FOUND",
      ]),
      ["Echo", "JSONRPC", "task", "status"],
    ]);
  });
});
