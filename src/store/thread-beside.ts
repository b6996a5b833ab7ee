import { Worker } from "node:worker_threads";

interface ThreadOptions {
  /** The starter's `import.meta.url`: the thread's file lies beside that file. */
  readonly beside: string;
  /** Name of the thread's file, without its extension. */
  readonly name: string;
  readonly data: object;
  /** Young generation of the thread's heap, in MiB: short-lived objects would let it grow several times as large. */
  readonly youngMib: number;
}

/** Starts a thread: TypeScript when run from source, as in tests, JavaScript when built. */
export function startThread({ beside, name, data, youngMib }: ThreadOptions): Worker {
  const isSource = beside.endsWith(".ts");
  return new Worker(new URL(`./${name}.${isSource ? "ts" : "js"}`, beside), {
    workerData: data,
    resourceLimits: { maxYoungGenerationSizeMb: youngMib },
    ...(isSource && { execArgv: loaderArguments(beside) }),
  });
}

/** Registers the loader of TypeScript in the thread, which does not always inherit it (Node 20). */
function loaderArguments(parent: string): string[] {
  const loader = `import { register } from "node:module"; register("tsx/esm", "${parent}", { data: {} });`;
  return ["--import", `data:text/javascript,${encodeURIComponent(loader)}`];
}
