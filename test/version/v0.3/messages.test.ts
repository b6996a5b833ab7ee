import { create, type DescMessage, type JsonValue, type Message, type MessageShape, toJson } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as earlier from "../../../gen/a2a/v1/a2a_pb.js";
import * as native from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { fromNative, methodPairs, pairs, toNative } from "../../../src/version/v0.3/messages.js";
import { Converters } from "../../../src/version/v0.3/pair-converters.js";
import { cacheForms, cachesForms, sharedCopy } from "../../../src/wire/serialization-cache.js";
import { scaled } from "../../support/soak.js";
import { anyMessage } from "../../wire/arbitrary.js";

type Json = Record<string, unknown>;

const up = (from: DescMessage, to: DescMessage, init: Json): Json =>
  toJson(to, toNative(from, to)(create(from, init as never))) as Json;
const down = (from: DescMessage, to: DescMessage, init: Json): Json =>
  toJson(to, fromNative(from, to)(create(from, init as never))) as Json;

const [E, N] = [earlier, native];
const text = (value: string) => ({ case: "text" as const, value });

describe("messages of A2A 0.3 and 1.0", () => {
  it("has a like for every message and every method of 0.3", () => {
    const types = earlier.file_a2a_v1_a2a.messages.map(({ typeName }) => typeName);
    // Ways to the agent are made by hand, since the card says of all of them together what 1.0 says of each; so are the two parts of a part.
    const byHand = ["AgentInterface", "AgentCardSignature", "FilePart", "DataPart"].map((name) => `a2a.v1.${name}`);
    expect([...new Set(pairs.map((each) => each.earlier.typeName)), ...byHand].sort()).toEqual(types.sort());
    expect(methodPairs.map((each) => each.earlier)).toEqual(expect.arrayContaining([...earlier.A2AService.methods]));
    for (const { earlier: was, native: is } of methodPairs) expect(was.methodKind).toBe(is.methodKind);
  });

  it("loses no field that is not named: each has a like, or is seen to", () => {
    for (const each of pairs) {
      toNative(each.earlier, each.native);
      fromNative(each.native, each.earlier);
      for (const [desc, names] of [
        [each.earlier, each.onlyEarlier],
        [each.native, each.onlyNative],
      ] as const) {
        const fields = desc.fields.map(({ localName }) => localName);
        expect(fields).toEqual(expect.arrayContaining([...(names ?? [])]));
      }
    }
    const blind = new Converters([{ earlier: E.MessageSchema, native: N.MessageSchema }]);
    expect(() => blind.to("up", N.MessageSchema)).toThrow(
      "a2a.v1.Message.content has no counterpart in lf.a2a.v1.Message",
    );
    expect(() => blind.to("down", E.TaskSchema)).toThrow("a2a.v1.Task has no counterpart");
  });

  it.each([
    ["text", { part: text("hi"), metadata: { a: 1 } }, { text: "hi", metadata: { a: 1 } }],
    [
      "a file by its address",
      {
        part: {
          case: "file",
          value: { file: { case: "fileWithUri", value: "https://a" }, mimeType: "a/b", name: "n" },
        },
      },
      { url: "https://a", mediaType: "a/b", filename: "n" },
    ],
    [
      "a file by its content",
      { part: { case: "file", value: { file: { case: "fileWithBytes", value: new Uint8Array([1, 2]) } } } },
      { raw: "AQI=" },
    ],
    ["data", { part: { case: "data", value: { data: { a: [1, null] } } } }, { data: { a: [1, null] } }],
    ["data without an object", { part: { case: "data", value: {} } }, { data: {} }],
    [
      "data that only looks like an object",
      { part: { case: "data", value: { data: { value: [1, 2] } } }, metadata: { data_part_compat: true, b: 2 } },
      { data: [1, 2], metadata: { b: 2 } },
    ],
    [
      "data that says nothing of the kind",
      { part: { case: "data", value: { data: { value: [1] } } }, metadata: { data_part_compat: "true" } },
      { data: { value: [1] }, metadata: { data_part_compat: "true" } },
    ],
    ["a part without content, which is refused later", { metadata: { a: 1 } }, { metadata: { a: 1 } }],
    [
      "a file without content, which is refused later",
      { part: { case: "file", value: { mimeType: "a/b" } } },
      { mediaType: "a/b" },
    ],
  ])("reads %s", (_, init, json) => {
    expect(up(E.PartSchema, N.PartSchema, init)).toEqual(json);
  });

  it("writes data that is no object in the way of the bridges that are in use", () => {
    const data = { case: "data", value: { kind: { case: "listValue", value: { values: [] } } } };
    expect(down(N.PartSchema, E.PartSchema, { content: data })).toEqual({
      data: { data: { value: [] } },
      metadata: { data_part_compat: true },
    });
    expect(() => down(N.PartSchema, E.PartSchema, {})).toThrow(
      "A part without content cannot be expressed in A2A 0.3.",
    );
  });

  it.each([
    ["without a configuration: waits", {}, undefined],
    ["with one that does not say: does not wait", { configuration: {} }, { returnImmediately: true }],
    ["with one that waits", { configuration: { blocking: true } }, {}],
    [
      "with a history: 0 is all of it",
      { configuration: { blocking: true, historyLength: 0, acceptedOutputModes: ["a/b"] } },
      { acceptedOutputModes: ["a/b"] },
    ],
    ["with a history", { configuration: { blocking: true, historyLength: 3 } }, { historyLength: 3 }],
    [
      "with a webhook, whose first scheme counts",
      {
        configuration: {
          blocking: true,
          pushNotification: {
            id: "p",
            url: "https://w",
            authentication: { schemes: ["Bearer", "Basic"], credentials: "c" },
          },
        },
      },
      {
        taskPushNotificationConfig: {
          id: "p",
          url: "https://w",
          authentication: { scheme: "Bearer", credentials: "c" },
        },
      },
    ],
    [
      "with a webhook of no schemes",
      { configuration: { blocking: true, pushNotification: { url: "https://w", authentication: {} } } },
      { taskPushNotificationConfig: { url: "https://w" } },
    ],
  ])("reads a message %s", (_, init, configuration) => {
    expect(up(E.SendMessageRequestSchema, N.SendMessageRequestSchema, init).configuration).toEqual(configuration);
  });

  it("writes `blocking` where it is asked to wait", () => {
    const sent = (configuration: Json) =>
      down(N.SendMessageRequestSchema, E.SendMessageRequestSchema, { configuration });
    expect(sent({ historyLength: 2 })).toEqual({ configuration: { blocking: true, historyLength: 2 } });
    expect(sent({ returnImmediately: true })).toEqual({ configuration: {} });
  });

  it.each([
    ["tasks/a", "a"],
    ["a", ""],
    ["tasks/", ""],
    ["task/a", ""],
    ["tasks/a/b", ""],
    ["/tasks/a", ""],
    ["tasks/a/pushNotificationConfigs/b", ""],
  ])("reads the task's name %j as the id %j", (name, id) => {
    for (const [from, to] of [
      [E.GetTaskRequestSchema, N.GetTaskRequestSchema],
      [E.CancelTaskRequestSchema, N.CancelTaskRequestSchema],
      [E.TaskSubscriptionRequestSchema, N.SubscribeToTaskRequestSchema],
    ] as const) {
      expect(up(from, to, { name }).id ?? "").toBe(id);
    }
    const list = up(E.ListTaskPushNotificationConfigRequestSchema, N.ListTaskPushNotificationConfigsRequestSchema, {
      parent: name,
    });
    expect(list.taskId ?? "").toBe(id);
  });

  it.each([
    ["tasks/a/pushNotificationConfigs/b", { taskId: "a", id: "b" }],
    ["tasks/a/pushNotificationConfigs/", {}],
    ["tasks/a", {}],
    ["tasks/a/pushNotificationConfig/b", {}],
  ])("reads the webhook's name %j as %j", (name, ids) => {
    expect(
      up(E.GetTaskPushNotificationConfigRequestSchema, N.GetTaskPushNotificationConfigRequestSchema, { name }),
    ).toEqual(ids);
    expect(
      up(E.DeleteTaskPushNotificationConfigRequestSchema, N.DeleteTaskPushNotificationConfigRequestSchema, { name }),
    ).toEqual(ids);
  });

  const stored = (init: Json) =>
    up(E.CreateTaskPushNotificationConfigRequestSchema, N.TaskPushNotificationConfigSchema, init);

  it("takes a webhook's id from where there is one, and its task from the parent", () => {
    const [parent, url] = ["tasks/t", "https://w"];
    const config = { name: "tasks/t/pushNotificationConfigs/c", pushNotificationConfig: { id: "b", url } };
    expect(stored({ parent, configId: "a", config })).toEqual({ taskId: "t", id: "a", url });
    expect(stored({ parent, config })).toEqual({ taskId: "t", id: "b", url });
    expect(stored({ parent, config: { ...config, pushNotificationConfig: { url } } })).toEqual({
      taskId: "t",
      id: "c",
      url,
    });
    expect(stored({ parent, config: { pushNotificationConfig: { url } } })).toEqual({ taskId: "t", url });
    expect(stored({ parent, configId: "a" })).toEqual({ taskId: "t", id: "a" });
    // Another task than the parent's: refused, like no task at all.
    expect(stored({ parent, config: { ...config, name: "tasks/u/pushNotificationConfigs/c" } }).taskId).toBeUndefined();
  });

  it("says with each status event whether it is the last", () => {
    const final = (state: number) =>
      down(N.TaskStatusUpdateEventSchema, E.TaskStatusUpdateEventSchema, { status: { state } }).final ?? false;
    const { UNSPECIFIED, SUBMITTED, WORKING, COMPLETED, FAILED, CANCELED, INPUT_REQUIRED, REJECTED, AUTH_REQUIRED } =
      N.TaskState;
    for (const state of [UNSPECIFIED, SUBMITTED, WORKING]) expect(final(state)).toBe(false);
    for (const state of [COMPLETED, FAILED, CANCELED, INPUT_REQUIRED, REJECTED, AUTH_REQUIRED])
      expect(final(state)).toBe(true);
  });

  it("says no less than the contract wants: a status, and who has written", () => {
    expect(down(N.TaskSchema, E.TaskSchema, { id: "a" })).toEqual({ id: "a", status: {} });
    expect(down(N.MessageSchema, E.MessageSchema, {})).toEqual({ role: "ROLE_AGENT" });
    expect(down(N.TaskStatusSchema, E.TaskStatusSchema, { state: N.TaskState.CANCELED })).toEqual({
      state: "TASK_STATE_CANCELLED",
    });
  });
});

/** Changes to messages, by the names of their types. */
type Changes = Readonly<Record<string, (message: never) => void>>;

describe("there and back again", () => {
  const ids = fc.string({ unit: fc.constantFrom("a", "-", "%", " ", ":", "ä", "."), minLength: 1, maxLength: 5 });

  /** Changes messages of these types, wherever they are in one. */
  function changed(desc: DescMessage, message: Message, changes: Changes): Message {
    for (const field of desc.fields) {
      const { message: inner } = field;
      if (inner === undefined || inner.typeName.startsWith("google.")) continue;
      const holder = message as unknown as Json;
      const one = field.oneof && (holder[field.oneof.localName] as { case?: string; value?: unknown });
      const value = one === undefined ? holder[field.localName] : one.case === field.localName ? one.value : undefined;
      const items =
        field.fieldKind === "list"
          ? (value as Message[])
          : field.fieldKind === "map"
            ? Object.values(value as object)
            : value
              ? [value]
              : [];
      for (const item of items) changed(inner, item as Message, changes);
    }
    changes[desc.name]?.(message as never);
    return message;
  }

  const json = (desc: DescMessage, message: Message): JsonValue => toJson(desc, message);

  function check(from: DescMessage, to: DescMessage, { direction, prepare = {}, lost = {} }: Trip) {
    const [there, back] = direction === "up" ? [toNative, fromNative] : [fromNative, toNative];
    const property = fc.property(anyMessage(from), ids, ids, (made, a, b) => {
      const sent = changed(from, made, { ...prepare, ...named(a, b) });
      const before = json(from, sent);
      const returned = back(to, from)(there(from, to)(sent));
      expect(json(from, sent)).toEqual(before); // nothing of the original is touched
      expect(json(from, returned)).toEqual(json(from, changed(from, sent, lost)));
    });
    fc.assert(property, { numRuns: scaled(25, 150) });
  }

  /** Names that are names: what else may stand there is refused, and has its own tests. */
  const named = (taskId: string, id: string): Changes => {
    const task = (each: Json) => Object.assign(each, "name" in each ? { name: `tasks/${taskId}` } : { id: taskId });
    const parent = (each: Json) => Object.assign(each, "parent" in each ? { parent: `tasks/${taskId}` } : { taskId });
    const webhook = (each: Json) => {
      if (!("name" in each)) return Object.assign(each, { taskId, id });
      each.name = `tasks/${taskId}/pushNotificationConfigs/${id}`;
      // One id in both places: where they differ the name wins, as its own test says.
      if (each.$typeName === E.TaskPushNotificationConfigSchema.typeName) {
        each.pushNotificationConfig ??= create(E.PushNotificationConfigSchema);
        Object.assign(each.pushNotificationConfig as Json, { id });
      }
      return each;
    };
    return {
      GetTaskRequest: task,
      CancelTaskRequest: task,
      TaskSubscriptionRequest: task,
      SubscribeToTaskRequest: task,
      ListTaskPushNotificationConfigRequest: parent,
      ListTaskPushNotificationConfigsRequest: parent,
      GetTaskPushNotificationConfigRequest: webhook,
      DeleteTaskPushNotificationConfigRequest: webhook,
      TaskPushNotificationConfig: webhook,
    } as Changes;
  };

  const flag = (metadata: Json | undefined) => metadata !== undefined && "data_part_compat" in metadata;

  interface Trip {
    readonly direction: "up" | "down";
    /** Removes values that the other version cannot express. */
    readonly prepare?: Changes;
    /** Removes values that do not come back. */
    readonly lost?: Changes;
  }

  const up: Trip = {
    direction: "up",
    prepare: {
      Part: ((part: earlier.Part) => {
        if (part.part.case === undefined) part.part = text("");
        if (part.part.case === "file" && part.part.value.file.case === undefined) {
          part.part.value.file = { case: "fileWithUri", value: "u" };
        }
        if (flag(part.metadata)) delete part.metadata;
      }) as never,
    },
    lost: {
      Part: ((part: earlier.Part) => {
        if (part.part.case === "data") part.part.value.data ??= {};
      }) as never,
      AuthenticationInfo: ((info: earlier.AuthenticationInfo) => {
        info.schemes = info.schemes.slice(0, 1).filter((each) => each !== "");
      }) as never,
      Message: ((message: earlier.Message) => {
        message.role ||= earlier.Role.AGENT;
      }) as never,
      Task: ((task: earlier.Task) => {
        task.status ??= create(E.TaskStatusSchema);
      }) as never,
      TaskStatusUpdateEvent: ((event: earlier.TaskStatusUpdateEvent) => {
        event.final = [3, 4, 5, 6, 7, 8].includes(event.status?.state ?? 0);
      }) as never,
      PushNotificationConfig: ((config: earlier.PushNotificationConfig) => {
        if (config.authentication?.schemes.length === 0) delete config.authentication;
      }) as never,
    },
  };
  // Lists that become empty by the first rule were not empty on the way.
  const authentication = (config: earlier.PushNotificationConfig) => {
    const schemes = config.authentication?.schemes;
    if (schemes !== undefined && schemes[0] === "") schemes[0] = "x";
  };
  const cookie = (scheme: { location: string }) => {
    scheme.location = "cookie";
  };
  const upTrip: Trip = {
    ...up,
    prepare: { ...up.prepare, PushNotificationConfig: authentication as never, APIKeySecurityScheme: cookie as never },
  };

  it.each(pairs.filter(({ earlier: { name } }) => !/^AgentCard$|^AgentCapab|^CreateTask/.test(name)))(
    "returns $earlier.typeName from $native.typeName",
    ({ earlier: from, native: to }) => check(from, to, upTrip),
  );

  const part = (each: native.Part) => {
    if (each.content.case === undefined) each.content = text("");
    if (flag(each.metadata)) delete each.metadata;
  };
  const downTrip: Trip = {
    direction: "down",
    prepare: {
      Part: part as never,
      APIKeySecurityScheme: cookie as never,
    },
    lost: {
      Part: ((each: native.Part) => {
        const { content, metadata = {} } = each;
        if (content.case === "text" || content.case === "data") Object.assign(each, { filename: "", mediaType: "" });
        // Metadata without anything in it that were there for the note on the data alone.
        const isObject = content.case === "data" && content.value.kind.case === "structValue";
        if (content.case === "data" && !isObject && Object.keys(metadata).length === 0) delete each.metadata;
      }) as never,
      Message: ((message: native.Message) => {
        message.referenceTaskIds = [];
        message.role ||= native.Role.AGENT;
      }) as never,
      Task: ((task: native.Task) => {
        task.status ??= create(N.TaskStatusSchema);
      }) as never,
      SendMessageConfiguration: ((config: native.SendMessageConfiguration) => {
        // In 0.3, 0 means the whole history.
        if (config.historyLength === 0) delete config.historyLength;
        if (config.taskPushNotificationConfig) config.taskPushNotificationConfig.taskId = "";
      }) as never,
      GetTaskRequest: ((request: native.GetTaskRequest) => {
        request.tenant = "";
        if (request.historyLength === 0) delete request.historyLength;
      }) as never,
      CancelTaskRequest: ((request: native.CancelTaskRequest) => {
        delete request.metadata;
        request.tenant = "";
      }) as never,
      TaskPushNotificationConfig: ((config: native.TaskPushNotificationConfig) => {
        config.tenant = "";
        if (config.authentication?.scheme === "") delete config.authentication;
      }) as never,
      AuthorizationCodeOAuthFlow: ((flow: native.AuthorizationCodeOAuthFlow) => {
        flow.pkceRequired = false;
      }) as never,
      OAuthFlows: ((flows: native.OAuthFlows) => {
        if (flows.flow.case === "deviceCode") flows.flow = { case: undefined };
      }) as never,
      AgentCapabilities: ((capabilities: native.AgentCapabilities) => {
        delete capabilities.extendedAgentCard;
        // Capabilities that are false are omitted.
        if (capabilities.streaming === false) delete capabilities.streaming;
        if (capabilities.pushNotifications === false) delete capabilities.pushNotifications;
      }) as never,
    },
  };
  const tenantless = (each: { tenant?: string }) => {
    if (each.tenant !== undefined) each.tenant = "";
  };
  const withoutTenant = Object.fromEntries(
    [
      "SendMessageRequest",
      "SubscribeToTaskRequest",
      "GetTaskPushNotificationConfigRequest",
      "DeleteTaskPushNotificationConfigRequest",
      "ListTaskPushNotificationConfigsRequest",
      "GetExtendedAgentCardRequest",
    ].map((name) => [name, tenantless as never]),
  );
  const downWithout: Trip = { ...downTrip, lost: { ...downTrip.lost, ...withoutTenant } };

  it.each(pairs.filter(({ earlier: { name } }) => !/^AgentCard$|^PushNotificationConfig$/.test(name)))(
    "returns $native.typeName from $earlier.typeName, without what 0.3 does not have",
    ({ earlier: to, native: from }) => check(from, to, downWithout),
  );
});

describe("cards of A2A 0.3 and 1.0", () => {
  const ours = { url: "https://a/rpc", protocolBinding: "JSONRPC", protocolVersion: "0.3" };
  const shown = (init: Json) => down(N.AgentCardSchema, E.AgentCardSchema, { supportedInterfaces: [ours], ...init });

  it("names the ways to the agent that are for 0.3, the first one as its own", () => {
    const supportedInterfaces = [
      { ...ours, url: "https://a", protocolVersion: "1.0" },
      { ...ours, protocolVersion: "0.3.0" },
      { url: "a:443", protocolBinding: "GRPC", protocolVersion: "" },
      { ...ours, tenant: "t" },
    ];
    expect(
      shown({ name: "n", supportedInterfaces, capabilities: { extendedAgentCard: true, streaming: true } }),
    ).toEqual({
      name: "n",
      protocolVersion: "0.3.0",
      url: "https://a/rpc",
      preferredTransport: "JSONRPC",
      additionalInterfaces: [{ url: "a:443", transport: "GRPC" }],
      capabilities: { streaming: true },
      supportsAuthenticatedExtendedCard: true,
    });
    expect(() => shown({ supportedInterfaces: [{ ...ours, protocolVersion: "1.0" }] })).toThrow(
      "no interface for A2A 0.3",
    );
  });

  it("never says that less security is needed than is", () => {
    const flows = (name: string) => ({
      scheme: { case: "oauth2SecurityScheme", value: { flows: { flow: { case: name, value: { tokenUrl: "t" } } } } },
    });
    const securitySchemes = { device: flows("deviceCode"), client: flows("clientCredentials") };
    const needs = (...names: string[]) => ({ schemes: Object.fromEntries(names.map((name) => [name, {}])) });
    const card = shown({
      securitySchemes,
      securityRequirements: [needs("device"), needs("device", "client"), needs("client")],
    });
    expect(Object.keys(card.securitySchemes as object)).toEqual(["client"]);
    expect(card.security).toEqual([{ schemes: { client: {} } }]);
    expect(() => shown({ securitySchemes, securityRequirements: [needs("device")] })).toThrow(
      "no security scheme that A2A 0.3 supports",
    );
    const skills = [{ id: "s", securityRequirements: [needs("device")] }];
    expect(() => shown({ securitySchemes, skills })).toThrow("no security scheme that A2A 0.3 supports");
  });

  it("reads one of 0.3: each way to the agent once, with the version of the card", () => {
    const card = create(E.AgentCardSchema, {
      protocolVersion: "0.3.0",
      url: "https://a/rpc",
      additionalInterfaces: [
        { url: "https://a/rpc", transport: "JSONRPC" },
        { url: "a:443", transport: "GRPC" },
      ],
      supportsAuthenticatedExtendedCard: true,
      securitySchemes: { key: { scheme: { case: "apiKeySecurityScheme", value: { location: "body", name: "k" } } } },
      security: [{ schemes: { key: {} } }],
      signatures: [{ protected: "p", signature: "s" }],
    });
    expect(
      toJson(
        N.AgentCardSchema,
        toNative(E.AgentCardSchema, N.AgentCardSchema)(card) as MessageShape<typeof N.AgentCardSchema>,
      ),
    ).toEqual({
      supportedInterfaces: [
        { url: "https://a/rpc", protocolBinding: "JSONRPC", protocolVersion: "0.3" },
        { url: "a:443", protocolBinding: "GRPC", protocolVersion: "0.3" },
      ],
      capabilities: { extendedAgentCard: true },
      securitySchemes: { key: { apiKeySecurityScheme: { location: "header", name: "k" } } },
      securityRequirements: [{ schemes: { key: {} } }],
    });
  });

  it("makes what readers share of 1.0 once for those of 0.3, and something of its own of a copy", () => {
    const convert = fromNative(N.TaskSchema, E.TaskSchema);
    const task = create(N.TaskSchema, {
      id: "t",
      status: { state: N.TaskState.WORKING },
      artifacts: [{ artifactId: "a" }],
    });
    expect(convert(task)).not.toBe(convert(task));
    cacheForms(task);
    const like = convert(task);
    expect(convert(task)).toBe(like);
    expect(cachesForms(like)).toBe(true);
    // The first frame of a stream is each reader's own, and has what they share in it.
    const frame = create(N.StreamResponseSchema, { payload: { case: "task", value: task } });
    const shown = fromNative(N.StreamResponseSchema, E.StreamResponseSchema)(frame) as earlier.StreamResponse;
    expect(shown.payload.value).toBe(like);
    const copy = convert(sharedCopy(task, { id: "other" })) as earlier.Task;
    expect([copy.id, copy.artifacts.length]).toEqual(["other", 1]);
    expect(convert(task)).toBe(like);
  });
});
