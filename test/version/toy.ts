import {
  create,
  createFileRegistry,
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescService,
  type Message,
} from "@bufbuild/protobuf";
import {
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import {
  A2AService,
  GetTaskRequestSchema,
  Role,
  SendMessageRequestSchema,
  type SendMessageResponse,
  type StreamResponse,
  type Task,
  TaskState,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type JsonRpcMethod, jsonRpcOf } from "../../src/version/jsonrpc.js";
import type { MethodHandler, MethodInvocation } from "../../src/version/method-handler.js";
import { type Endpoint, endpointOf } from "../../src/version/rest.js";
import { type LoadedVersion, type ProtocolVersion, shapeOf } from "../../src/version/version.js";
import { carry } from "../../src/wire/marks.js";
import { parsePathTemplate } from "../../src/wire/path-template.js";

/**
 * A version that no client uses. Its messages, method names, paths, results and errors are its own, but some names and
 * paths equal those of 1.0. Its streams end with an event that 1.0 does not have.
 */

const string = FieldDescriptorProto_Type.STRING;
const message = (name: string, ...fields: readonly [string, FieldDescriptorProto_Type][]) => ({
  name,
  field: fields.map(([field, type], i) => ({
    name: field,
    jsonName: field,
    number: i + 1,
    type,
    label: FieldDescriptorProto_Label.OPTIONAL,
  })),
});

const file = create(FileDescriptorProtoSchema, {
  name: "toy.proto",
  package: "toy.v0",
  syntax: "proto3",
  messageType: [
    message("Say", ["text", string]),
    message("Look", ["id", string]),
    message("Heard", ["id", string], ["state", string], ["final", FieldDescriptorProto_Type.BOOL]),
  ],
  service: [
    {
      name: "Toy",
      method: [
        { name: "Talk", inputType: ".toy.v0.Say", outputType: ".toy.v0.Heard" },
        { name: "Listen", inputType: ".toy.v0.Say", outputType: ".toy.v0.Heard", serverStreaming: true },
        { name: "Peek", inputType: ".toy.v0.Look", outputType: ".toy.v0.Heard" },
      ],
    },
  ],
});

const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: [file] }));
export const Toy: DescService = registry.getService("toy.v0.Toy") as DescService;
const Heard = registry.getMessage("toy.v0.Heard") as DescMessage;
const methodOf = (name: string): DescMethod => Toy.methods.find((each) => each.name === name) as DescMethod;

const heard = (original: Message, { id, state, final }: { id: string; state: TaskState; final?: boolean }): Message =>
  carry(original, create(Heard, { id, state: TaskState[state].toLowerCase(), final: final === true } as never));

const heardTask = (original: Message, { id, status }: Task): Message =>
  heard(original, { id, state: status?.state ?? TaskState.UNSPECIFIED });

/** Its names for the methods; the last is one of 1.0 too. */
const names: Readonly<Record<string, string>> = { Talk: "toy/talk", Listen: "toy/listen", Peek: "GetTask" };

/** Results stand in an object that says what they are. */
const shaped = (write: (result: Message) => string) => (result: Message) => `{"toy":${write(result)}}`;

function rpc(method: JsonRpcMethod): JsonRpcMethod {
  return { ...method, name: names[method.name] ?? method.name, write: shaped(method.write) };
}

/** `Peek` and `Listen` have paths of 1.0. */
function endpoint(name: string, verb: string, path: string): Endpoint {
  const method = methodOf(name);
  const fields = path.includes("{id}") ? [method.input.field.id as DescField] : [];
  const made = endpointOf({ method, verb, template: parsePathTemplate(path), fields, hasBody: verb === "POST" });
  return { ...made, write: shaped(made.write) };
}

/** Its calls become those of the service, and answers come back. */
function translate(service: MethodHandler): MethodHandler {
  return async ({ method, request, call }: MethodInvocation) => {
    const { text = "", id = "" } = request as { text?: string; id?: string } & Message;
    const parts = [{ content: { case: "text" as const, value: text } }];
    const said = create(SendMessageRequestSchema, { message: { messageId: "m", role: Role.USER, parts } });
    if (method.name === "Peek") {
      const asked = create(GetTaskRequestSchema, { id });
      const task = (await service({ method: A2AService.method.getTask, request: asked, call })) as Task;
      return heardTask(task, task);
    }
    if (method.name === "Talk") {
      const answer = await service({ method: A2AService.method.sendMessage, request: said, call });
      const { payload } = answer as SendMessageResponse;
      return heardTask(answer as Message, payload.value as Task);
    }
    const events = await service({ method: A2AService.method.sendStreamingMessage, request: said, call });
    return heardEvents(events as AsyncIterable<StreamResponse>);
  };
}

async function* heardEvents(events: AsyncIterable<StreamResponse>): AsyncGenerator<Message> {
  let last: StreamResponse | undefined;
  let id = "";
  for await (const event of events) {
    const { payload } = event;
    if (payload.case === "task") id = payload.value.id;
    if (payload.case === "task") yield heardTask(event, payload.value);
    if (payload.case === "statusUpdate") {
      yield heard(event, { id, state: payload.value.status?.state ?? TaskState.UNSPECIFIED });
    }
    last = event;
  }
  if (last !== undefined) yield heard(last, { id, state: TaskState.UNSPECIFIED, final: true });
}

const loaded: LoadedVersion = {
  jsonRpc: {
    methods: jsonRpcOf(Toy).methods.map(rpc),
    error: (id, { reason, row }) =>
      JSON.stringify({ jsonrpc: "2.0", id, error: { code: row.jsonrpc, message: reason } }),
  },
  rest: {
    endpoints: [
      endpoint("Talk", "POST", "/toy/talk"),
      endpoint("Listen", "POST", "/message:stream"),
      endpoint("Peek", "GET", "/tasks/{id}"),
    ],
    mediaType: "application/json",
    error: ({ reason }) => JSON.stringify({ toy: reason }),
  },
  translate,
  service: { service: Toy, translate },
};

/** Number of times the version was loaded. */
export const loads = { count: 0 };

export const toy: ProtocolVersion = {
  name: "0.9",
  interfaces: ["jsonRpc", "rest", "connect", "grpc"],
  methods: { "toy/talk": "SendMessage", "toy/listen": "SendStreamingMessage", GetTask: "GetTask" },
  paths: ["/toy/"],
  grpc: shapeOf(Toy),
  connect: shapeOf(Toy),
  load: async () => {
    loads.count++;
    return loaded;
  },
};
