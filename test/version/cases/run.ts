import { randomUUID } from "node:crypto";
import type { JsonValue } from "@bufbuild/protobuf";
import type { Case, Expectation, Pattern, Request, Step, WebhookRequest } from "./case.js";
import { exchange, type Outcome } from "./exchange.js";
import { eventFaults, faults } from "./pattern.js";
import { Variables } from "./variables.js";
import { extension, token, type World } from "./world.js";

/** Runs a case over real sockets. @throws Error that says what differs */
export async function runCase({ given = [], ...step }: Case, world: World): Promise<void> {
  const hook = `/hook/${randomUUID()}`;
  const variables = new Variables({
    rpc: "/",
    rest: "",
    webhook: world.webhook.urlOf(hook),
    token,
    extension,
  });
  for (const [i, one] of given.entries()) await runStep(one, { world, variables, hook, name: `given ${i}` });
  await runStep(step, { world, variables, hook, name: "request" });
}

interface Run {
  readonly world: World;
  readonly variables: Variables;
  /** Path of the case's receiver. */
  readonly hook: string;
  readonly name: string;
}

async function runStep(step: Step, run: Run): Promise<void> {
  const { variables, name } = run;
  const request = variables.fillAll(step.request as unknown as JsonValue) as unknown as Request;
  const during = async (): Promise<void> => {
    for (const [i, one] of (step.expect.during ?? []).entries()) {
      await runStep(one, { ...run, name: `${name}, during ${i}` });
    }
  };
  const outcome = await exchange(request, run.world, { during, leaveAfter: leaveAfter(step.expect) });
  const expectation = variables.fillAll(step.expect as unknown as JsonValue) as unknown as Expectation;
  fail(name, expectationFaults(expectation, outcome), outcome);
  if (step.capture !== undefined) variables.capture(JSON.parse(JSON.stringify(outcome)) as JsonValue, step.capture);
  const wanted = expectation.webhook?.eventually;
  if (wanted !== undefined) await judgeWebhook(wanted, run);
}

/** After how many events the client leaves. */
function leaveAfter({ firstEvent, events, thenDisconnect }: Expectation): number | undefined {
  if (firstEvent !== undefined) return 1;
  return thenDisconnect === true ? events?.length : undefined;
}

function fail(name: string, found: readonly string[], outcome: unknown): void {
  if (found.length > 0)
    throw new Error(`${name}: ${found.join("\n")}\ngot: ${JSON.stringify(outcome)?.slice(0, 3_000)}`);
}

async function judgeWebhook(wanted: WebhookRequest, { world, hook, name }: Run): Promise<void> {
  const pattern = { ...wanted } as { [name: string]: Pattern };
  const found = await world.webhook.eventually(hook, (each) => faults(each as never, pattern).length === 0);
  if (found.some((each) => faults(each as never, pattern).length === 0)) return;
  fail(name, [`no request to the webhook is ${JSON.stringify(wanted)}`], found);
}

/** Differences of an outcome from the expectation. */
export function expectationFaults(expect: Expectation, outcome: Outcome): string[] {
  const found: string[] = [];
  const { status, headers, body, events, firstEvent, lastEvent, closed, anyOf, thenDisconnect } = expect;
  if (status !== undefined) found.push(...faults(outcome.status, status, "status"));
  if (headers !== undefined) found.push(...faults(outcome.headers as JsonValue, headers as Pattern, "headers"));
  if (body !== undefined) found.push(...faults(outcome.body, body, "body"));
  const isStream = events !== undefined || firstEvent !== undefined || lastEvent !== undefined;
  if (isStream && outcome.events === undefined) return [...found, "the answer is no stream"];
  if (events !== undefined) found.push(...eventFaults(outcome.events ?? [], events));
  if (firstEvent !== undefined) found.push(...faults(outcome.events?.[0], firstEvent, "first event"));
  if (lastEvent !== undefined) found.push(...faults(outcome.events?.at(-1), lastEvent, "last event"));
  if ((closed === true || lastEvent !== undefined || events !== undefined) && thenDisconnect !== true) {
    if (isStream && outcome.ended !== true) found.push("the server did not end the stream");
  }
  if (anyOf !== undefined) {
    const each = anyOf.map((one) => expectationFaults(one, outcome));
    if (!each.some((one) => one.length === 0)) found.push(`none of the alternatives: ${each.flat().join("; ")}`);
  }
  return found;
}
