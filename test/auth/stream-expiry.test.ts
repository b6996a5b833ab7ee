import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { customScheme, jwtScheme } from "../../src/auth/index.js";
import { type A2AOptions, type AuditRecord, completed, working } from "../../src/index.js";
import { obedient } from "../conformance/agents.js";
import type { CallOptions } from "../support/driver.js";
import { TestIssuer } from "./issuer.js";
import { everyBinding, type SecuredWorld, say, secured, titleOf } from "./world.js";

/** Streams end when the credentials that started them expire. Their tasks continue. */

const records: AuditRecord[] = [];
let issuer: TestIssuer;
let world: SecuredWorld;
const ends = new Map<string, () => void>();

const agent = (): A2AOptions["agent"] => ({
  ...obedient("long"),
  security: {
    schemes: {
      token: jwtScheme({ jwks: issuer.jwks, issuer: issuer.url, audience: "agents" }),
      own: customScheme({
        card: { httpAuthSecurityScheme: { scheme: "Own" } },
        authenticate: (call) => {
          const owner = call.header("x-own");
          return owner === undefined ? undefined : { owner, expiresAt: Date.now() + 200 };
        },
      }),
    },
  },
  async *execute(turn) {
    yield working();
    await new Promise<void>((resolve) => ends.set(turn.taskId, resolve));
    yield completed();
  },
});

beforeAll(async () => {
  issuer = await TestIssuer.start();
  world = await secured({
    agent: agent() as never,
    audit: { write: (record) => void records.push(record) },
    limits: { expiredStreamGraceMs: 0 },
  });
});
afterAll(async () => {
  await world.close();
  await issuer.close();
});

const seconds = (): number => Math.floor(Date.now() / 1000);
const bearer = (token: string): CallOptions => ({ headers: { Authorization: `Bearer ${token}` } });
const idOf = (item: unknown): string => (item as { message: { task: { id: string } } }).message.task.id;

describe.each(everyBinding.map(titleOf))("a stream over %s", (title) => {
  const driver = () => world.drivers.get(title) as NonNullable<ReturnType<SecuredWorld["drivers"]["get"]>>;

  it("ends with its token, with an error that invites to resume; its task goes on and can be followed", async () => {
    const before = records.length;
    const stream = driver().stream(
      "SendStreamingMessage",
      say("long"),
      bearer(await issuer.token({ exp: seconds() + 2 })),
    );
    const id = idOf(await stream.next());
    const { error } = await stream.rest();
    expect(error).toMatchObject({
      reason: "UNAUTHENTICATED",
      message: expect.stringContaining("subscribe to the task again"),
    });
    const told = records.slice(before).filter(({ event }) => event !== "server.started");
    expect(told).toMatchObject([{ event: "authentication.expired", owner: "alice" }]);

    const again = driver().stream("SubscribeToTask", { id }, bearer(await issuer.token()));
    expect(await again.next()).toMatchObject({ message: { task: { id, status: { state: "TASK_STATE_WORKING" } } } });
    ends.get(id)?.();
    const { messages, error: none } = await again.rest();
    expect(none).toBeUndefined();
    expect(messages.at(-1)).toMatchObject({ statusUpdate: { status: { state: "TASK_STATE_COMPLETED" } } });
  });

  it("ends with what a custom scheme says", async () => {
    const stream = driver().stream("SendStreamingMessage", say("long"), { headers: { "X-Own": "carol" } });
    const id = idOf(await stream.next());
    expect((await stream.rest()).error).toMatchObject({ reason: "UNAUTHENTICATED" });
    ends.get(id)?.();
  });

  it("goes on where its token does", async () => {
    const stream = driver().stream(
      "SendStreamingMessage",
      say("long"),
      bearer(await issuer.token({ exp: seconds() + 600 })),
    );
    const id = idOf(await stream.next());
    await expect.poll(() => ends.has(id)).toBe(true);
    ends.get(id)?.();
    const { messages, error } = await stream.rest();
    expect(error).toBeUndefined();
    expect(messages.at(-1)).toMatchObject({ statusUpdate: { status: { state: "TASK_STATE_COMPLETED" } } });
  });
});
