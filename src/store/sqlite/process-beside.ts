import { type ChildProcess, fork } from "node:child_process";

/**
 * Starts a process: TypeScript when run from source, as in tests, JavaScript when built.
 *
 * @param beside the starter's `import.meta.url`: the process' file lies beside that file
 * @param name name of the process' file, without its extension
 */
export function startProcess(beside: string, name: string): ChildProcess {
  const isSource = beside.endsWith(".ts");
  return fork(new URL(`./${name}.${isSource ? "ts" : "js"}`, beside), [], {
    execArgv: isSource ? ["--import", "tsx/esm"] : [],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
}
