import { mkdirSync, writeFileSync } from "node:fs";
import { type Profiler, Session } from "node:inspector";
import { join } from "node:path";
import type { Environment } from "vitest/runtime";
import { root } from "./compiled.js";

/** Folder of the counts, which `tools/coverage/report.mjs` reads and removes. */
const folder = join(root, ".cache/coverage/raw");

/** A compiled source, which lies in another folder in each run (`compiled.ts`). */
const source = /\/\.cache\/tests-\d+\/tree\/((?:src|contract)\/.*)$/;

/**
 * The environment of tests while their lines are counted. It counts in each worker which parts of the compiled sources run, and
 * writes the counts once, when the worker ends: after each file they would cost more than the tests of most files. Calls are
 * counted, as V8 tells fewer branches otherwise.
 */
const counting: Environment = {
  name: "counting",
  viteEnvironment: "ssr",
  setup: () => {
    const session = new Session();
    session.connect();
    session.post("Profiler.enable");
    session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
    return {
      teardown: () =>
        session.post("Profiler.takePreciseCoverage", (error, taken) => {
          if (error !== null) throw error;
          write(taken.result);
        }),
    };
  },
};

function write(scripts: readonly Profiler.ScriptCoverage[]): void {
  const counts = scripts.flatMap(({ url, functions }) => {
    const file = source.exec(url)?.[1];
    return file === undefined ? [] : [{ file, functions }];
  });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${process.pid}-${Date.now()}.json`), JSON.stringify(counts));
}

export default counting;
