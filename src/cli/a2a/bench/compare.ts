import { readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { messageIn } from "../../../core/members.js";
import type { Context } from "../context.js";
import { usage } from "../errors.js";
import type { Report } from "./report.js";

/** Largest report, in bytes. */
const MAX_BYTES = 1024 * 1024;

/** Reads a report that `bench -o json` printed. @throws Failure before anything is sent */
export async function earlierReport({ io }: Context, file: string): Promise<Report> {
  const path = resolve(io.cwd, file);
  let json: unknown;
  try {
    if ((await stat(path)).size > MAX_BYTES) throw new Error("is larger than 1 MiB");
    json = JSON.parse(await readFile(path, "utf8"));
  } catch (error) {
    throw usage(`--compare: ${file}: ${messageIn(error)}`, "name a file with the output of bench -o json");
  }
  if (!isReport(json)) throw usage(`--compare: ${file} is not a report of bench -o json`);
  return json;
}

function isReport(json: unknown): json is Report {
  if (typeof json !== "object" || json === null) return false;
  const { perSecond, latency, operation } = json as Partial<Record<keyof Report, unknown>>;
  if (typeof perSecond !== "number" || typeof operation !== "string") return false;
  if (latency === null) return true;
  const { p50, p99 } = (latency ?? {}) as Readonly<Record<string, unknown>>;
  return typeof p50 === "number" && typeof p99 === "number";
}
