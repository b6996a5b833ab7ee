import type { DescMethod, JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { httpBearerScheme } from "../../src/auth/index.js";
import { obedient } from "../conformance/agents.js";
import { hook, toHook } from "../conformance/hook.js";
import { cover } from "../support/cover.js";
import { pairs } from "../support/covering.js";
import type { CallOptions, Driver } from "../support/driver.js";
import { everyBinding, type SecuredWorld, say, secured, titleOf } from "./world.js";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

/** The id of an existing push configuration of Alice's task. */
const configId = "a-configuration";
const secrets = { token: "her-token", authentication: { scheme: "Bearer", credentials: "her-credentials" } };

const as = (token: string): CallOptions => ({ headers: { Authorization: `Bearer ${token}` } });

/**
 * Makes a request about a task for any rpc, from the descriptor alone, so that it covers rpcs added later. The id of
 * the task is in `taskId`, in the message, or else in `id`.
 */
function about(method: DescMethod, taskId: string, tenant: string): JsonObject {
  const names = method.input.fields.map(({ localName }) => localName);
  const request: JsonObject = { tenant };
  if (names.includes("message")) {
    return { ...request, message: { ...(say("echo mine").message as JsonObject), taskId } };
  }
  if (names.includes("taskId")) request.taskId = taskId;
  if (names.includes("id")) request.id = names.includes("taskId") ? configId : taskId;
  if (names.includes("url")) request.url = hook;
  return request;
}

const isUnary = (method: DescMethod): boolean => method.methodKind === "unary";

/** Everything that the client can see of an answer, without the parts that differ between any two calls. */
async function seen(driver: Driver, method: DescMethod, request: JsonObject, options: CallOptions, taskId: string) {
  const reply = isUnary(method)
    ? await driver.call(method.name, request, options)
    : await driver.stream(method.name, request, options).rest();
  const { "x-request-id": _id, date: _date, ...rest } = reply.headers;
  const headers = Object.entries(rest).map(([name, value]) =>
    name.endsWith("-bin") ? [name, Buffer.from(value, "base64").toString("latin1")] : [name, value],
  );
  const { headers: _headers, ...answer } = reply;
  const text = JSON.stringify({ answer, headers }).replaceAll(taskId, "<task>");
  return { text, reason: reply.error?.reason };
}

/** An unknown id with the length of a task's id, so that answers have the same length. */
const unknown = "01a1fdef-a9b7-72bd-98a6-000000000000";

/**
 * Every method over every binding. `npm test` tries each method over a server and by `fetch`, and each kind of method
 * over each binding.
 */
const calls = cover(
  everyBinding.flatMap((binding) => A2AService.methods.map((method) => ({ binding, method, title: titleOf(binding) }))),
  ({ binding, method, title }) => [
    ...pairs(title, method.methodKind),
    ...pairs(`${binding.isFetch === true}`, method.name),
  ],
);

describe.each(everyBinding.map((binding) => [titleOf(binding)] as const))("over %s", (title) => {
  let world: SecuredWorld;
  let driver: Driver;
  beforeAll(async () => {
    const tokens = ["alice", "bob"].map((owner) => ({ owner, token: owner }));
    const security = { schemes: { bearer: httpBearerScheme({ tokens }) } };
    const extendedCard = { description: "More." };
    const agent = { ...obedient("owned", {}, { extendedCard }), security };
    world = await secured({ agent, tenants: ["north", "south"], push: toHook });
    driver = world.drivers.get(title) as Driver;
  });
  afterAll(() => world.close());

  /** A task of Alice's in the north that waits for her, with a push notification configuration. */
  async function taskOfAlice(): Promise<string> {
    const taskPushNotificationConfig = { id: configId, url: `${hook}/hers`, ...secrets };
    const { message, error } = await driver.call(
      "SendMessage",
      { tenant: "north", ...say("ask Which one?"), configuration: { taskPushNotificationConfig } } as JsonObject,
      as("alice"),
    );
    expect(error).toBeUndefined();
    const { task } = message as unknown as { task: { id: string } };
    return task.id;
  }

  it.each(calls.filter((call) => call.title === title).map(({ method }) => [method.name, method] as const))(
    "%s is for nobody without credentials, and shows others nothing [SRV-AUTH-01 SRV-AUTH-07 SRV-AUTH-08]",
    async (_name, method) => {
      const id = await taskOfAlice();
      for (const options of [{}, as("mallory")]) {
        for (const [tenant, taskId] of [
          ["north", id],
          ["north", unknown],
          ["nowhere", id],
        ] as const) {
          const { reason } = await seen(driver, method, about(method, taskId, tenant), options, taskId);
          expect(reason).toBe("UNAUTHENTICATED");
        }
      }
      // Another user, or the same user in another tenant, gets the answer for an unknown task.
      for (const [token, tenant] of [
        ["bob", "north"],
        ["alice", "south"],
        ["bob", "south"],
      ] as const) {
        const theirs = await seen(driver, method, about(method, id, tenant), as(token), id);
        const none = await seen(driver, method, about(method, unknown, tenant), as(token), unknown);
        expect(theirs).toEqual(none);
        for (const hers of ["Which one?", "hers", "her-"]) expect(theirs.text).not.toContain(hers);
      }
      // The owner still finds the task unchanged.
      const { message } = await driver.call("GetTask", { tenant: "north", id }, as("alice"));
      expect(message).toMatchObject({ id, status: { state: "TASK_STATE_INPUT_REQUIRED" } });
      expect(message?.history).toHaveLength(1);
      const configs = await driver.call(
        "ListTaskPushNotificationConfigs",
        { tenant: "north", taskId: id },
        as("alice"),
      );
      expect(configs.message).toMatchObject({ configs: [{ id: configId, url: `${hook}/hers` }] });
      expect(JSON.stringify(configs)).not.toContain("her-");
      const owner = isUnary(method)
        ? await driver.call(method.name, about(method, id, "north"), as("alice"))
        : await first(driver, method, about(method, id, "north"));
      expect(["UNAUTHENTICATED", "PERMISSION_DENIED", "TASK_NOT_FOUND"]).not.toContain(owner.error?.reason);
      if (method.name.includes("PushNotification")) expect(owner.error).toBeUndefined();
    },
  );
});

/** The first message of a stream. */
async function first(driver: Driver, method: DescMethod, request: JsonObject) {
  const stream = driver.stream(method.name, request, as("alice"));
  const item = await stream.next();
  stream.hangUp();
  return { error: "error" in item ? item.error : undefined };
}
