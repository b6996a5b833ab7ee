import { join } from "node:path";
import { partsOf, run, type Tool } from "./tool.js";

const PROGRAM = join(import.meta.dirname, "..", "node_modules", "autocannon", "autocannon.js");

interface Report {
  readonly requests: { readonly total: number };
  readonly duration: number;
  readonly errors: number;
  readonly non2xx: number;
}

export const autocannon: Tool = {
  name: "autocannon",
  async load(call, callers, seconds) {
    if (call.transport !== "http1") throw new Error("autocannon speaks HTTP/1.1");
    const { url, method, headers, body } = partsOf(call);
    const fields = headers.flatMap(([name, value]) => ["-H", `${name}=${value}`]);
    const counts = ["-c", `${callers}`, "-d", `${seconds}`];
    const args = [PROGRAM, "--json", "--no-progress", ...counts, "-m", method, ...fields, "-b", body, url];
    const { requests, duration, errors, non2xx } = JSON.parse(await run(process.execPath, args)) as Report;
    if (errors + non2xx > 0) throw new Error(`autocannon had ${errors + non2xx} answers that were no success`);
    return { calls: requests.total, ms: duration * 1_000 };
  },
};
