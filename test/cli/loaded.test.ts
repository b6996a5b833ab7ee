import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, vi } from "vitest";
import { fixture, probe, type Run, ready, workplaces } from "./cli.js";

vi.setConfig({ testTimeout: 60_000 });

const place = workplaces();

/** Runs a command line that writes a list of loaded files when it ends. */
function recorded(...args: string[]): { readonly started: Run; readonly lines: () => readonly string[] } {
  const file = join(place.path, "loaded.txt");
  const preload = fileURLToPath(new URL("../fixtures/loaded/preload.cjs", import.meta.url));
  const env = { NODE_OPTIONS: `--require=${preload}`, PARLEY_TEST_LOADED: file };
  return { started: place.run(args, env), lines: () => readFileSync(file, "utf8").split("\n") };
}

/** Everything that a server has loaded after it has answered with its card. */
async function loadedByStart(): Promise<readonly string[]> {
  const { started, lines } = recorded("serve", probe, "--port", "0", "--grpc-port", "0");
  const { url } = await ready(started);
  expect((await fetch(`${url}/.well-known/agent-card.json`)).status).toBe(200);
  started.child.kill("SIGTERM");
  expect(await started.exited).toBe(0);
  expect(lines()).toContain("the end");
  return lines();
}

const root = fileURLToPath(new URL("../..", import.meta.url));

/**
 * The sources of a loaded file: the file itself, or the sources that the build bundled. The build names each above its
 * code.
 */
function sourcesOf(url: string): readonly string[] {
  const path = url.startsWith("file:") ? fileURLToPath(url) : url;
  if (!path.startsWith(join(root, "dist"))) return [path];
  return [...readFileSync(path, "utf8").matchAll(/^ *\/\/ ((?:src|gen|node_modules)\/\S+\.[cm]?[jt]s)$/gm)].map(
    ([, at = ""]) => at,
  );
}

function packageOf(source: string): string[] {
  const [, name] = /^.*\bnode_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source) ?? [];
  return name === undefined ? [] : [name];
}

/** Packages that the driver loads if Node.js does not include SQLite. */
const sqlite = ["@photostructure/sqlite", "node-gyp-build"];

// Packages that each start loads. Another one costs time at each start, and memory while the server runs.
const expected = [
  "@bufbuild/protobuf",
  "@connectrpc/connect",
  "@connectrpc/connect-node",
  "@pinojs/redact",
  "atomic-sleep",
  "commander",
  "forwarded",
  "ipaddr.js",
  "on-exit-leak-free",
  "pino",
  "pino-std-serializers",
  "proxy-addr",
  "quick-format-unescaped",
  "safe-stable-stringify",
  "sonic-boom",
  "thread-stream",
];

it("a start loads the packages that it needs and no others", async () => {
  const lines = await loadedByStart();
  const sources = lines.flatMap(sourcesOf);
  const packages = new Set(sources.flatMap(packageOf));
  expect([...packages].filter((name) => !sqlite.includes(name)).toSorted()).toEqual(expected);
  // The first error loads the Fetch API of Node.js for its headers, and so does an import of node:http
  // (tools/build.mjs).
  expect(lines.filter((line) => line.includes("internal/deps/undici"))).toEqual([]);
  expect(sources.filter((path) => path.includes("src/testing/"))).toEqual([]);
  // Loaded on demand: operators' operations, the console, metrics as text, and copies of the store.
  const onUse =
    /^src\/(admin\/(operations|service)|console\/(access|console|files|relay|upstream)|server\/console|telemetry\/prometheus|store\/sqlite\/(backup|restore|copier))/;
  expect(sources.filter((path) => onUse.test(path))).toEqual([]);
  // Each file costs about a third of a millisecond, even a small one (tools/chunks.mjs).
  const files = new Set(lines.filter((line) => line.startsWith("file:") && line.includes("/dist/")));
  expect(files.size).toBeLessThan(110);
});

it.each([
  ["--version", "src/cli/command.ts", 0],
  ["send hi -a 127.0.0.1:9", "src/cli/a2a/send.ts", 3],
  ["chat hi -a 127.0.0.1:9", "src/cli/a2a/chat/chat.ts", 3],
  ["doctor 127.0.0.1:9", "src/cli/a2a/examine/doctor.ts", 3],
])("%s loads nothing of a server", async (line, own, code) => {
  const { started, lines } = recorded(...line.split(" "));
  expect(await started.exited).toBe(code);
  const sources = lines().flatMap(sourcesOf);
  expect(sources).toContain(own);
  expect(sources.filter((path) => /^src\/(engine|server|store\/sqlite)\//.test(path))).toEqual([]);
  const files = new Set(lines().filter((each) => each.startsWith("file:") && each.includes("/dist/")));
  expect(files.size).toBeLessThan(28);
  expect(lines().filter((each) => each.includes("internal/deps/undici"))).toEqual([]);
});

it("a start leaves V8 little room for young objects, and lets it grow before an agent is loaded", async () => {
  const file = join(place.path, "room.json");
  await ready(place.run(["serve", fixture("young"), "--port", "0", "--grpc-port", "0"], { PARLEY_TEST_ROOM: file }));
  const { loaded, later } = JSON.parse(readFileSync(file, "utf8")) as { loaded: number; later: number };
  expect(loaded).toBeLessThan(4.5 * 1024 ** 2);
  expect(later).toBeGreaterThan(2 * loaded);
});
