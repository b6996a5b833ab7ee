import { readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { messageIn } from "../../../core/members.js";
import { bytes } from "../../operate/format.js";
import type { Context } from "../context.js";
import { usage } from "../errors.js";
import { fields } from "../text.js";
import type { Latencies } from "./meter.js";

export interface Measured {
  readonly seconds: number;
  /** Calls that succeeded. */
  readonly calls: number;
  readonly perSecond: number;
  readonly failed: number;
  /** Failed calls by kind, most frequent first. */
  readonly errors: Readonly<Record<string, number>>;
  /** Calls that had not ended a moment after the measurement. */
  readonly unfinished: number;
  /** Calls of a rate that were due and had not begun. */
  readonly late: number;
  readonly connections: number;
  /** Bytes of the answers' bodies. */
  readonly bytes: number;
  readonly events: number;
  /** In milliseconds; null if no call succeeded. */
  readonly latency: Latencies | null;
  /** Time to the first event of a stream; null for other operations. */
  readonly firstEvent: Latencies | null;
  /** This process: its CPU time per time, and the share of the time in which its event loop was busy. */
  readonly generator: { readonly cpu: number; readonly busy: number; readonly isLimit: boolean };
}

/** Result of a run, as `-o json` prints it. */
export interface Report extends Measured {
  /** Name in the card; null without one. */
  readonly agent: string | null;
  readonly url: string;
  readonly binding: string;
  readonly operation: string;
  readonly callers: number;
  readonly rate: number | null;
}

/** Returns a report as text. @param earlier another one, to compare with */
export function reportText(report: Report, earlier: Report | undefined): string {
  const { agent, binding, url, operation, callers, connections, rate, seconds, events } = report;
  const { calls, perSecond, failed, errors, latency, firstEvent, generator } = report;
  const kinds = Object.entries(errors).map(([kind, count]) => `${kind} ${count}`);
  const paced = rate === null ? "" : `, ${rate} begun/s`;
  return fields({
    Agent: agent ?? undefined,
    Interface: `${binding} ${url}`,
    Operation: `${operation}, ${callers} callers, ${connections} connections${paced}`,
    Calls: `${calls} in ${seconds.toFixed(1)} s, ${shownRate(perSecond)}/s`,
    Errors: failed === 0 ? "0" : `${failed} (${kinds.join(", ")})`,
    Latency: latency === null ? undefined : latencyText(latency),
    "First Event": firstEvent === null ? undefined : latencyText(firstEvent),
    Events: events === 0 ? undefined : `${events}, ${shownRate(events / seconds)}/s`,
    Received: `${bytes(report.bytes)}, ${bytes(report.bytes / seconds)}/s`,
    Generator: `${percent(generator.cpu)} of a core, busy ${percent(generator.busy)} of the time`,
    Compared: earlier && comparison(report, earlier),
  });
}

export function latencyText({ p50, p90, p99, p999, max }: Latencies): string {
  const shown = { p50, p90, p99, "p99.9": p999, max };
  return `${Object.entries(shown)
    .map(([name, ms]) => `${name} ${shownMs(ms)}`)
    .join(", ")} ms`;
}

export function shownMs(ms: number): string {
  return ms >= 100 ? ms.toFixed(0) : ms.toPrecision(3);
}

export function shownRate(perSecond: number): string {
  return perSecond.toFixed(perSecond >= 100 ? 0 : 1);
}

const percent = (share: number): string => `${Math.round(share * 100)} %`;

function comparison(now: Report, before: Report): string {
  const differs = (["binding", "operation", "callers", "rate"] as const).filter((name) => now[name] !== before[name]);
  const rows = [
    ["calls/s", now.perSecond, before.perSecond],
    ["p50", now.latency?.p50, before.latency?.p50],
    ["p99", now.latency?.p99, before.latency?.p99],
  ] as const;
  const changes = rows.flatMap(([name, one, other]) =>
    one === undefined || other === undefined || other === 0 ? [] : [`${name} ${change(one / other - 1)}`],
  );
  const note = differs.length === 0 ? "" : ` (other ${differs.join(", ")})`;
  return `${changes.join(", ")}${note}`;
}

const change = (share: number): string => `${share < 0 ? "" : "+"}${(share * 100).toFixed(1)} %`;

/** Largest report, in bytes. */
const MAX_BYTES = 1024 * 1024;

/** Reads a report that `bench -o json` printed. @throws Failure before anything is sent */
export async function earlierReport({ io }: Context, file: string): Promise<Report> {
  const path = resolve(io.cwd, file);
  let json: unknown;
  try {
    const found = await stat(path);
    if (!found.isFile()) throw new Error("is not a file");
    if (found.size > MAX_BYTES) throw new Error("is larger than 1 MiB");
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
