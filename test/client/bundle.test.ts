import { join, relative } from "node:path";
import { inspect } from "node:util";
import { createContext, runInContext } from "node:vm";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { type DescEnumValue, type DescField, type DescFile, type DescMethod, getOption } from "@bufbuild/protobuf";
import { nestedTypes } from "@bufbuild/protobuf/reflect";
import { build as bundle } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { http } from "../../gen/google/api/annotations_pb.js";
import { field_behavior } from "../../gen/google/api/field_behavior_pb.js";
import { file_lf_a2a_v1_a2a } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { completed } from "../../src/agent/event.js";
import { createServer, type Server } from "../../src/server/create-server.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { build, root } from "../e2e/support/build.js";

/**
 * Maximum compressed size of the client in bytes, for a page that imports everything except the authentication flows.
 */
const MOST = 68_000;

/** Bundles a page that imports the published package, for a browser. */
async function bundled(contents: string): Promise<{ code: string; inputs: readonly string[] }> {
  const { outputFiles, metafile } = await bundle({
    stdin: { contents, resolveDir: root },
    bundle: true,
    minify: true,
    // The build fails if the page imports a module of Node.js.
    platform: "browser",
    format: "iife",
    globalName: "client",
    write: false,
    metafile: true,
    logLevel: "silent",
  });
  return { code: outputFiles[0]?.text ?? "", inputs: Object.keys(metafile.inputs) };
}

/**
 * Bundles a page into chunks. `atFirst` is loaded before the first call. `inTheEnd` is loaded after calls over every
 * binding of the current version: the first calls over Connect and gRPC-Web load `connect.ts` and `grpc.ts`. Chunks for
 * earlier versions are not counted, because the first call of such a version loads them.
 */
async function loaded(contents: string): Promise<{ atFirst: string; inTheEnd: string }> {
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
  const { outputs } = metafile;
  const textOf = (names: string[]): string => {
    const wanted = new Set(names);
    for (const name of wanted) {
      for (const { kind, path } of outputs[name]?.imports ?? []) if (kind === "import-statement") wanted.add(path);
    }
    const files = outputFiles.filter(({ path }) => wanted.has(relative(root, path)));
    expect(files.length).toBe(wanted.size);
    return files.map(({ text }) => text).join("");
  };
  const entries = Object.entries(outputs).map(([name, { entryPoint = "" }]) => [name, entryPoint] as const);
  const late = entries.filter(([, from]) => /^dist\/web\/chunks\/(?:connect|grpc)-[0-9A-Z]+\.js$/.test(from));
  expect(late.length).toBe(2);
  const older = entries.filter(([, from]) => /^dist\/web\/chunks\/(?:older|calls)-/.test(from));
  expect(older.length).toBeGreaterThan(2);
  return {
    atFirst: textOf(["stdin.js"]),
    inTheEnd: textOf(["stdin.js", ...late.map(([name]) => name)]),
  };
}

function compressed(code: string): { gzip: number; brotli: number } {
  return { gzip: gzipSync(code, { level: 9 }).length, brotli: brotliCompressSync(code).length };
}

/** The parts of a contract that are read at run time. */
function contractOf(file: DescFile): unknown[] {
  const known: unknown[] = [];
  for (const type of nestedTypes(file)) {
    if (type.kind === "enum") known.push([type.typeName, type.open, type.values.map(constantOf)]);
    if (type.kind === "message") known.push([type.typeName, type.proto.options?.mapEntry, type.fields.map(fieldOf)]);
    if (type.kind === "service") known.push([type.typeName, type.methods.map(methodOf)]);
  }
  return known;
}

const constantOf = ({ name, number, localName }: DescEnumValue) => [name, number, localName];

const methodOf = (method: DescMethod) => [
  ...[method.name, method.localName, method.methodKind, method.idempotency],
  ...[method.input.typeName, method.output.typeName, getOption(method, http)],
];

function fieldOf(field: DescField): unknown[] {
  const { listKind, mapKind, mapKey, getDefaultValue } = field as unknown as Record<string, unknown>;
  return [
    ...[field.name, field.jsonName, field.localName, field.number, field.fieldKind, field.presence, field.scalar],
    ...[field.message?.typeName, field.enum?.typeName, field.oneof?.name, listKind, mapKind, mapKey],
    ...[field.proto.options?.deprecated, getOption(field, field_behavior), typeof getDefaultValue],
  ];
}

/** The bindings and versions that a client supports in a browser. */
const spoken = [
  ...["JSONRPC", "HTTP+JSON", "CONNECT", "GRPC-WEB"].map((binding) => [binding, "1.0"]),
  ["JSONRPC", "0.3"],
  ["HTTP+JSON", "0.3"],
  ["JSONRPC", "0.2"],
  ["JSONRPC", "0.1"],
];

describe("the client in a browser's bundle", () => {
  beforeAll(() => build(), 120_000);
  let server: Server | undefined;
  afterAll(() => server?.close({ graceMs: 0 }));

  it("is small, and has nothing of Node.js", async () => {
    const page = `export * from "parley-a2a/client"; export { A2AService } from "parley-a2a/gen";`;
    const { inputs } = await bundled(page);
    const { atFirst, inTheEnd } = await loaded(page);
    expect(inputs.filter((path) => /^dist\/(?:src|gen)\//.test(path))).toEqual([]);
    expect(inputs.filter((path) => path.startsWith("dist/web/")).length).toBeGreaterThan(1);
    expect(inTheEnd).not.toMatch(/\bnode:|require\(/);
    const sizes = { atFirst: compressed(atFirst), inTheEnd: compressed(inTheEnd) };
    process.stdout.write(`the client: ${inTheEnd.length} bytes, compressed ${JSON.stringify(sizes)}\n`);
    expect(atFirst.length).toBeLessThan(inTheEnd.length);
    expect(sizes.inTheEnd.gzip).toBeLessThan(MOST);
    expect(sizes.inTheEnd.brotli).toBeLessThan(MOST);
  });

  it.each(["client", "client/oauth", "client/ai-sdk"])(
    "loads as %s where nothing may begin meanwhile, as in workers",
    async (entry) => {
      const { code } = await bundled(`export * from "parley-a2a/${entry}";`);
      const forbidden = (): never => {
        throw new Error("Disallowed operation called within global scope.");
      };
      const signals = { timeout: forbidden, any: forbidden, abort: forbidden };
      const randoms = { getRandomValues: forbidden, randomUUID: forbidden };
      const begins = ["AbortController", "setTimeout", "setInterval", "queueMicrotask", "fetch"];
      const context = createContext({
        ...Object.fromEntries(
          begins.map((name) => [
            name,
            () => {
              forbidden();
            },
          ]),
        ),
        ...{
          Headers,
          Request,
          Response,
          TextDecoder,
          TextEncoder,
          URL,
          URLSearchParams,
          DOMException,
          ReadableStream,
          atob,
          btoa,
        },
        ...{ AbortSignal: signals, crypto: { ...randoms, subtle: {} } },
      });
      runInContext("Math.random = crypto.getRandomValues;", context);
      runInContext(`${code}; this.client = client;`, context);
      expect(Object.keys(context.client as object)).not.toEqual([]);
    },
  );

  it("has errors that are shown by their name, whatever the bundler calls their class", async () => {
    for (const built of ["dist/src/client/index.js", "dist/web/src/client/web.js"]) {
      const { A2AError } = await import(join(root, built));
      expect(inspect(new A2AError("CANCELLED", "Over."))).toMatch(/^A2AError: Over\./);
    }
  });

  it("has the contract as it is elsewhere", async () => {
    const { A2AService: service } = await import(join(root, "dist/web/gen/lf/a2a/v1/a2a_pb.js"));
    const inPages = contractOf(service.file);
    expect(inPages.length).toBeGreaterThan(40);
    expect(inPages).toEqual(contractOf(file_lf_a2a_v1_a2a));
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
        for (const [binding, version] of ${JSON.stringify(spoken)}) {
          const transport = createTransport(binding, url, { version });
          const rpc = createClient(A2AService, transport);
          const message = { messageId: crypto.randomUUID(), role: 1, parts: [{ content: { case: "text", value: "¿Qué?" } }] };
          const { payload } = await rpc.sendMessage({ message });
          const texts = [payload.value.status.message.parts[0].content.value];
          const again = { ...message, messageId: crypto.randomUUID() };
          for await (const event of rpc.sendStreamingMessage({ message: again })) texts.push(event.payload.case);
          const error = clientError(await rpc.getTask({ id: "nowhere" }).catch((error) => error));
          said.push([binding, version, ...texts, error instanceof A2AError, error.reason]);
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
      ...spoken.map((interface_) => [...interface_, "¿Qué?", "task", "statusUpdate", true, "TASK_NOT_FOUND"]),
      ["Echo", "JSONRPC", "task", "status"],
    ]);
  });
});
