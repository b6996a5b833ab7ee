import type { AgentInterface } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import type { FoundCard } from "../../../client/discovery/discovery.js";
import { pause } from "../../../core/async.js";
import { withoutSecrets } from "../../../core/net.js";
import { faultOfPing } from "../../../examine/check.js";
import { openInterface } from "../agent.js";
import { type Context, ownOption, type Run } from "../context.js";
import { Failure } from "../errors.js";
import { duration, wholeNumber } from "../kinds.js";
import { field } from "../text.js";
import { candidateOf, cardFound, probing, whyUncalled } from "./interface.js";

const MAX_COUNT = 1_000;

/** Calls of one interface, with latencies in milliseconds. */
interface Pinged {
  readonly binding: string;
  readonly version: string;
  readonly url: string;
  readonly calls: number;
  readonly answered: number;
  /** Latency of the first call, which opens the connection. */
  readonly firstMs: number | null;
  readonly minMs: number | null;
  readonly medianMs: number | null;
  readonly maxMs: number | null;
  readonly error: string | null;
}

/** `ping`: calls every interface of an agent, in its own version, and prints latencies. */
export const run: Run = async (context, [ref]) => {
  const count = ownOption(context, "count", wholeNumber(1, MAX_COUNT)) ?? 4;
  const intervalMs = ownOption(context, "interval", duration) ?? 200;
  context.startBudget();
  const begin = performance.now();
  const { found, platform } = await cardFound(context, "ping", ref);
  await platform.close();
  const cardMs = rounded(performance.now() - begin);
  const { out } = context;
  if (!out.mode.isJson) out.text(field("Card", `${cardMs} ms, ${found.url ?? "a file"}`));
  const all: Pinged[] = [];
  for (const declared of found.card.supportedInterfaces) {
    const pinged = await ping(context, found, declared, { count, intervalMs });
    all.push(pinged);
    if (!out.mode.isJson) out.text(formatPing(pinged));
  }
  if (out.mode.isJson) out.json({ agent: found.card.name, card: found.url ?? null, cardMs, interfaces: all });
  judge(context, all);
};

/** Sets the exit status. @throws Failure if no interface answered */
function judge(context: Context, all: readonly Pinged[]): void {
  const silent = all.filter(({ error }) => error !== null);
  if (silent.length === 0) return;
  if (silent.length === all.length) {
    const hint = "check that the agent runs, and the URLs of its card";
    throw new Failure("A2ACLI_ERR_UNREACHABLE", "No interface of the agent answers.", { hint });
  }
  context.noteFaults();
}

async function ping(
  context: Context,
  found: FoundCard,
  declared: AgentInterface,
  { count, intervalMs }: { readonly count: number; readonly intervalMs: number },
): Promise<Pinged> {
  const { protocolBinding, protocolVersion, url } = declared;
  const chosen = candidateOf(context, found, declared);
  const binding = chosen?.binding ?? protocolBinding;
  const place = { binding, version: protocolVersion, url: withoutSecrets(chosen?.url ?? url) };
  if (chosen === undefined) {
    const why = whyUncalled(context, declared);
    return { ...place, ...summary([], 0, "fault" in why ? why.fault : why.skipped) };
  }
  const { client } = await openInterface(probing(context), found, chosen);
  const { signal } = context;
  const latencies: number[] = [];
  let error: string | null = null;
  try {
    for (let calls = 0; calls < count; calls++) {
      if (calls > 0) await pause(intervalMs, signal);
      signal.throwIfAborted();
      const begin = performance.now();
      const fault = await faultOfPing(client, signal);
      signal.throwIfAborted();
      if (fault === undefined) latencies.push(performance.now() - begin);
      else error ??= context.out.redactor.text(fault);
      context.touch();
    }
  } finally {
    await client.close();
  }
  return { ...place, ...summary(latencies, count, error) };
}

function summary(latencies: readonly number[], calls: number, error: string | null): Omit<Pinged, keyof PingTarget> {
  const [first, ...later] = latencies;
  const sorted = (later.length > 0 ? later : latencies).toSorted((one, other) => one - other);
  const at = (share: number): number | null => {
    const value = sorted[Math.round(share * (sorted.length - 1))];
    return value === undefined ? null : rounded(value);
  };
  return {
    calls,
    answered: latencies.length,
    firstMs: first === undefined ? null : rounded(first),
    minMs: at(0),
    medianMs: at(0.5),
    maxMs: at(1),
    error,
  };
}

type PingTarget = Pick<Pinged, "binding" | "version" | "url">;

const rounded = (ms: number): number => Math.round(ms * 10) / 10;

function formatPing({
  binding,
  version,
  url,
  calls,
  answered,
  firstMs,
  minMs,
  medianMs,
  maxMs,
  error,
}: Pinged): string {
  const latencies =
    firstMs === null ? "" : `, first ${firstMs} ms${calls > 1 ? `, then ${minMs}/${medianMs}/${maxMs} ms` : ""}`;
  const fault = error === null ? "" : `, ${error}`;
  return field(`${binding} ${version}`, `${answered} of ${calls} answered${latencies}${fault} (${url})`);
}
