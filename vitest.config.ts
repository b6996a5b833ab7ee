import { readdirSync } from "node:fs";
import { createRequire, isBuiltin } from "node:module";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig, type ViteUserConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { compiledSources } from "./test/support/compiled.js";
import { scaledTests } from "./test/support/scaled-tests.js";

type Tests = NonNullable<ViteUserConfig["test"]>;

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Tests whose servers are processes of their own, or that look at times. */
const processes = ["e2e", "network", "cli", "bench"].map((folder) => `test/${folder}/**/*.test.ts`);

/**
 * Files that take long, most of which kill, stop or starve processes. `npm test` has shorter ones of each kind and leaves
 * these out.
 */
const long = [
  "cli/{backup,card,console,dev,dev-chat,init,migrate,module,operate-process,operate-stalled,serve-options,serve-signals,store-copy,a2a/pressure,workers}",
  "client/{cuts,hostile/hostile,restarts}",
  "delegation/hostile",
  "conformance/replicas",
  "docs/{cli,client,operations,typescript}",
  "e2e/{bad-disk,bad-end,cancel-elsewhere,copied,delegation,first-start,handover,killed-steps,left-sub-tasks,named-stopped}",
  "e2e/{older-file,push,push-replicas,push-versions}",
  "e2e/{database-limits,database-outage,failover,restored,secrets,shared,shutdown,stopped,workers,workers-writer}",
  "engine/conversation-kills",
  "network/{followed,fuzz,heap,outgoing-limits,slow-rate,slow-readers,streams,young}",
  "push/{many-configurations,sharing}",
  "signals/postgres",
  "store/copy/copy",
  "store/{sqlite/backup,sqlite/contract-{process,shared},postgres/contract,postgres/counts,postgres/migrate,postgres/outage,postgres/failover,postgres/server}",
].map((name) => `test/${name}.test.ts`);

/** Files that take long, and mostly wait. */
const waiting =
  /test\/(e2e|network|cli)\/|(store\/(sqlite|postgres)\/(contract|outage|failover|lock|upgrade)|push\/(sharing|giving-up)|engine\/(two-processes|recovery)|auth\/stream-expiry|v0\.1\/reopened)[^/]*$/;

const isSmallAndLong = ({ moduleId }: TestSpecification): boolean =>
  /test\/(store\/(sqlite|memory|postgres)\/contract|engine\/conversation-kills|docs\/typescript|client\/restarts)[^/]*$/.test(
    moduleId,
  );

/** Begins a file that waits with every three that compute, so that the processors are never idle, and the long ones never last. */
class Mixed extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const bySize = await super.sort(files);
    // Small files of many tests, which would be the last.
    const sorted = [...bySize.filter(isSmallAndLong), ...bySize.filter((file) => !isSmallAndLong(file))];
    // A worker is used again while the next file belongs to the same project.
    const first = sorted.filter(({ project }) => project.config.isolate);
    const waits = sorted.filter((file) => !first.includes(file) && waiting.test(file.moduleId));
    const computes = sorted.filter((file) => !first.includes(file) && !waits.includes(file));
    return [
      ...first,
      ...computes.flatMap((file, at) => (at % 3 === 0 ? [...waits.splice(0, 1), file] : [file])),
      ...waits,
    ];
  }
}

/** Tests on slow stores, which load the engine's tests once more for each. */
const slow = "test/slow-engine/**/*.test.ts";

/** One of the five, on a store that processes share. Those on SQLite take three times as long. */
const someSlow = "test/slow-engine/memory-shared.test.ts";

/** The other four. */
const otherSlow = "test/slow-engine/{memory,sqlite,sqlite-shared,postgres}.test.ts";

/** Tests of SQLite that have no writer's thread in their own process, or are not about it. */
const threadless =
  "commit|crash|driver|errors|layout|list|migrations|node|push-list|queue|restored|upgrade|write-codec|writer|writer-process";

/** The tests of SQLite that depend on the writer's threads. The contract does so on a shared file. */
const sqlite = `test/store/sqlite/**/!(contract|${threadless}).test.ts`;

/** Tests that count what their whole process has, or take the place of its timers or of a module that others have loaded. */
const alone = [
  "agent/text",
  "engine/size",
  "model/interleavings",
  "network/sizes",
  "push/signature/derived",
  "push/target/own-address",
  "store/sqlite/idle",
].map((name) => `test/${name}.test.ts`);

/** The examples import the package by its name, as its users do. Tests run them on the sources. */
const ownNames = [
  { find: /^parley-a2a$/, replacement: at("src/index.ts") },
  { find: /^parley-a2a\/(events|fetch|fastify|extend)$/, replacement: at("src/$1.ts") },
  { find: /^parley-a2a\/(ai|auth|testing)$/, replacement: at("src/$1/index.ts") },
  { find: /^parley-a2a\/store$/, replacement: at("src/store/index.ts") },
  { find: /^parley-a2a\/store\/(sqlite|memory)$/, replacement: at("src/store/$1/index.ts") },
  { find: /^parley-a2a\/signals(\/nats)?$/, replacement: at("src/signals$1/index.ts") },
  { find: /^parley-a2a\/gen$/, replacement: at("gen/lf/a2a/v1/a2a_pb.ts") },
  { find: /^\.\/start-writer\.js$/, replacement: at("test/support/writer-thread.ts") },
  { find: /^\.\/start-heartbeats\.js$/, replacement: at("test/support/heartbeats.ts") },
  { find: /^\.\/start-copier\.js$/, replacement: at("test/support/copier.ts") },
];

/** The AI SDK in a folder, for `src/ai`: the first install does not have it. */
function aiSdkOf(folder: string): { readonly find: RegExp; readonly replacement: string }[] {
  const built = at(`${folder}/node_modules/ai/dist`);
  return [
    { find: /^ai$/, replacement: `${built}/index.mjs` },
    { find: /^ai\/test$/, replacement: `${built}/test/index.mjs` },
  ];
}

/** The client of NATS, for `src/signals/nats`: the first install does not have it. */
const nats = {
  find: /^@nats-io\/transport-node$/,
  replacement: at("test/interop/node_modules/@nats-io/transport-node/lib/mod.js"),
};

/** The stand-in for the AI SDK, which the first install does not have. */
const aiStandIn = [{ find: /^ai(\/test)?$/, replacement: at("test/ai/stand-in.ts") }];

/** How much longer than elsewhere a machine of CI may take, where several checks run beside each other. */
const patience = process.env.CI === undefined ? 1 : 2;

/** What `expect.poll` waits for may take as long: by default it gives up after a second. */
const expectations = { poll: { timeout: 15_000 * patience } };

/** A test that a busy machine of CI has made fail has one more try; `.ci/run` names it at its end. Elsewhere it just fails. */
const retry = process.env.CI === undefined ? 0 : 1;

/**
 * The tests by the mode of a run (`vitest run --mode all`):
 *
 * - without a mode: `npm test`, where a large table of cases takes a part that has every pair, loops are short, and long
 *   files are left out;
 * - `all`: whole tables and long loops;
 * - `coverage`: the same without `processes`, and counts which lines of `src` they run;
 * - `rest`: what `npm test` leaves out: the other cases of its tables, the long files, and those of SQLite, whose threads are
 *   shared there. Loops are as short, as they draw new values in each run. Lines are also counted with `PARLEY_COVERAGE`, so
 *   that `.ci/run` adds up those of both;
 * - `agents`, `interop`, `nodes` and `tools`: tests that need more than the first install.
 */
export default defineConfig(({ mode }): ViteUserConfig => {
  if (mode === "agents") return agents;
  if (mode === "interop") return { test: interop() };
  if (mode === "nodes") return { test: nodes };
  if (mode === "tools") return { test: tools };
  return sources(mode);
});

/** Tests of the sources. */
function sources(mode: string): ViteUserConfig {
  const isWhole = ["all", "coverage", "rest"].includes(mode);
  const rest = mode === "rest" ? [...scaledTests(), ...long, sqlite] : undefined;
  const counts = mode === "coverage" || process.env.PARLEY_COVERAGE !== undefined;
  // Of each project: Vitest evaluates what they extend with another mode.
  const plugins = [compiledSources];
  const environment = counts ? at("test/support/counting.ts") : "node";
  return {
    resolve: { alias: [...ownNames, ...aiStandIn] },
    test: {
      globalSetup: [at("test/support/bundles.ts")],
      setupFiles: [at("test/support/setup.ts")],
      server: { deps: { external: [/\.cache\/tests-/] } },
      env: isWhole ? { PARLEY_TESTS: mode === "rest" ? mode : "all" } : {},
      // connect-node's client destroys an idle session with this error when its server goes, at times after it has stopped
      // listening for errors. It concerns no call, and no server.
      onUnhandledError: (error) => !error.message.endsWith("received GOAWAY without any open streams"),
      // Nothing is asserted about times: these end what hangs, on a machine that is busy with other things as well.
      testTimeout: 30_000 * patience,
      retry,
      hookTimeout: 60_000 * patience,
      // Tests wait two thirds of their time. Vitest takes one worker less than there are processors.
      maxWorkers: availableParallelism() + 4,
      sequence: { sequencer: Mixed },
      expect: expectations,
      projects: [
        {
          extends: true,
          plugins,
          test: {
            name: "unit",
            environment,
            // Loading the sources anew for each of 370 files would take longer than their tests. What a file changes of its
            // process, it has to put back.
            isolate: false,
            include: rest ?? ["test/**/*.test.ts"],
            exclude: ["**/node_modules/**", ...(isWhole ? processes : long), ...alone, slow],
          },
        },
        {
          extends: true,
          plugins,
          test: { name: "alone", environment, include: aloneIn(mode, rest) },
        },
        ...(mode === "all" || rest !== undefined
          ? [
              {
                extends: true as const,
                plugins,
                test: {
                  name: "processes",
                  isolate: false,
                  include: rest?.filter(isOfProcesses) ?? processes,
                  exclude: ["**/node_modules/**", ...alone],
                },
              },
            ]
          : []),
        // What is about SQLite runs on both drivers where there are two.
        ...(mode === "all" && hasBothDrivers()
          ? [
              {
                extends: true as const,
                plugins,
                test: {
                  name: "photostructure",
                  include: ["test/store/sqlite/**/*.test.ts"],
                  setupFiles: [at("test/support/setup.ts"), at("test/support/database.ts")],
                  env: { PARLEY_SQLITE_DRIVER: "@photostructure/sqlite" },
                },
              },
            ]
          : []),
      ],
    },
  };
}

/** Returns true for a file or a pattern of `processes`. */
const isOfProcesses = (file: string): boolean => /^test\/(e2e|network|cli|bench)\//.test(file);

/** The files that run alone. */
function aloneIn(mode: string, rest: readonly string[] | undefined): string[] {
  if (rest !== undefined) return [...alone.filter((file) => rest.includes(file)), otherSlow];
  if (mode === "coverage") return alone;
  return [...alone, mode === "all" ? slow : someSlow];
}

/** Whether Node.js has SQLite itself, and the package for others has a binary for this platform besides. */
function hasBothDrivers(): boolean {
  if (!isBuiltin("node:sqlite")) return false;
  try {
    createRequire(import.meta.url)("@photostructure/sqlite");
    return true;
  } catch {
    return false;
  }
}

/** Tests that replace a global, or a module that others have loaded. */
const aloneInInterop = ["ai-agent-7", "react"];

/** Tests with the clients, servers and tools of others; `npm run test:interop` has them. */
function interop(): Tests {
  const end = ".interop.ts";
  const files = readdirSync(at("test/interop")).filter((file) => file.endsWith(end));
  const known = files.map((file) => file.slice(0, -end.length));
  // `PARLEY_INTEROP_ONLY=curl,sdk` runs these alone; without it all have to run, and what cannot run is a failure.
  const names = (process.env.PARLEY_INTEROP_ONLY ?? "").split(",").map((name) => name.trim());
  const only = names.filter((name) => name !== "");
  const unknown = only.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    throw new Error(`PARLEY_INTEROP_ONLY names ${unknown.join(", ")}; there are ${known.join(", ")}.`);
  }
  const include = (only.length > 0 ? only : known).map((name) => `test/interop/${name}${end}`);
  const isAlone = (file: string): boolean => aloneInInterop.some((name) => file.endsWith(`/${name}${end}`));
  // They extend nothing, as Vitest evaluates what they extend with another mode.
  const project = (own: Tests): ViteUserConfig => ({
    resolve: { alias: [...aiSdkOf("test/interop"), nats] },
    test: { ...common, ...own },
  });
  const common: Tests = {
    globalSetup: ["test/interop/support/global-setup.ts"],
    // Those that run beside each other in a file wait for tokens to run out.
    maxConcurrency: 24,
    // Clients in other languages are installed before the first test of their file.
    hookTimeout: 600_000,
    testTimeout: 60_000 * patience,
    expect: expectations,
    retry,
  };
  return {
    projects: [
      // A fork with its modules costs a second of a processor, and a Chromium two, of which each worker has one.
      project({ name: "shared", isolate: false, include: include.filter((file) => !isAlone(file)) }),
      project({ name: "alone", include: include.filter(isAlone) }),
    ],
  };
}

/** Tests of the agents in `examples/agents`, with the frameworks that they are written with; `npm run test:agents` has them. */
const agents: ViteUserConfig = {
  resolve: { alias: [...ownNames, ...aiSdkOf("examples/agents")] },
  test: {
    include: ["examples/agents/**/*.test.ts"],
    // Loading the frameworks anew for each file would take seconds.
    isolate: false,
    globalSetup: [at("test/support/bundles.ts")],
    setupFiles: [at("test/support/setup.ts")],
    // Processes are started and killed.
    hookTimeout: 120_000,
    testTimeout: 120_000,
    expect: expectations,
    retry,
  },
};

/** Tests on other versions of Node.js than the one that runs them; `npm run test:nodes`. */
const nodes: Tests = {
  include: ["test/**/*.nodes.ts"],
  // One after the other: each of them takes all processors.
  fileParallelism: false,
  testTimeout: 60_000,
  // Clones are written and removed.
  hookTimeout: 300_000,
  expect: expectations,
  retry,
};

/** Tests of what only tools can tell that the first install does not bring; `npm run test:tools` has them in its PATH. */
const tools: Tests = {
  include: ["test/**/*.tools.ts"],
  // Packages are packed and installed.
  hookTimeout: 300_000,
  testTimeout: 300_000,
  expect: expectations,
};
