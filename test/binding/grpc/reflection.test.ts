import { fromBinary, getExtension } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { type Client, type MethodDefinition, status } from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { http } from "../../../gen/google/api/annotations_pb.js";
import { FieldBehavior, field_behavior } from "../../../gen/google/api/field_behavior_pb.js";
import { A2AService, TaskSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { reflectionVersions } from "../../support/grpc-services.js";
import { serve, taskEvent } from "./support.js";

interface Answer {
  readonly listServicesResponse?: { readonly service: readonly { readonly name: string }[] };
  /** In base64. */
  readonly fileDescriptorResponse?: { readonly fileDescriptorProto: readonly string[] };
  readonly allExtensionNumbersResponse?: { readonly extensionNumber: readonly number[] };
  readonly errorResponse?: { readonly errorCode: number };
}

type Question = MethodDefinition<object, object>;

/** Asks the reflection service one question. */
function ask(client: Client, method: Question, question: object): Promise<Answer> {
  const { path, requestSerialize, responseDeserialize } = method;
  const stream = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize);
  return new Promise((resolve, reject) => {
    stream.on("data", resolve);
    stream.on("error", reject);
    stream.end(question);
  });
}

async function filesFor(client: Client, method: Question, question: object): Promise<FileDescriptorProto[]> {
  const { fileDescriptorResponse } = await ask(client, method, question);
  const files = fileDescriptorResponse?.fileDescriptorProto ?? [];
  return files.map((file) => fromBinary(FileDescriptorProtoSchema, Uint8Array.from(Buffer.from(file, "base64"))));
}

const answering = () => taskEvent("0");

describe.each(reflectionVersions)("%s", (_name, method) => {
  it("lists our service, health and itself, and nothing else", async () => {
    const { client } = await serve(answering);
    const { listServicesResponse } = await ask(client, method, { listServices: "*" });
    expect(listServicesResponse?.service.map(({ name }) => name).sort()).toEqual([
      "grpc.health.v1.Health",
      "grpc.reflection.v1.ServerReflection",
      "grpc.reflection.v1alpha.ServerReflection",
      "lf.a2a.v1.A2AService",
    ]);
  });

  it("gives the contract as it is, with HTTP rules and REQUIRED marks (SRV-GRPC-02)", async () => {
    const { client } = await serve(answering);
    const files = await filesFor(client, method, { fileContainingSymbol: A2AService.typeName });
    const contract = files.find((file) => file.name === A2AService.file.proto.name);
    expect(contract).toEqual(A2AService.file.proto);
    const getTask = contract?.service[0]?.method.find(({ name }) => name === A2AService.method.getTask.name);
    expect(getTask?.options && getExtension(getTask.options, http).pattern).toEqual({
      case: "get",
      value: "/tasks/{id=*}",
    });
    const field = contract?.messageType.find(({ name }) => name === TaskSchema.name)?.field[0];
    expect(field?.options && getExtension(field.options, field_behavior)).toEqual([FieldBehavior.REQUIRED]);
  });

  it("gives every file that another one imports", async () => {
    const { client } = await serve(answering);
    const missing = ["lf.a2a.v1.Task", "google.rpc.ErrorInfo", "grpc.health.v1.Health", "google.rpc.Status"].map(
      async (symbol) => filesFor(client, method, { fileContainingSymbol: symbol }),
    );
    const seen = new Set<string>();
    const queue = (await Promise.all(missing)).flat();
    expect(queue.length).toBeGreaterThanOrEqual(4);
    for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
      seen.add(file.name);
      for (const name of file.dependency.filter((dependency) => !seen.has(dependency))) {
        const [imported] = await filesFor(client, method, { fileByFilename: name });
        expect(imported?.name).toBe(name);
        if (imported !== undefined) queue.push(imported);
      }
    }
    expect(seen).toContain("google/api/annotations.proto");
    expect(seen).toContain("google/protobuf/struct.proto");
  });

  it("finds members of types and what extends a message", async () => {
    const { client } = await serve(answering);
    const symbols = ["SendMessage", "Task.status", "Part.content", "TASK_STATE_WORKING"].map((name) =>
      name === "SendMessage" ? `${A2AService.typeName}.${name}` : `lf.a2a.v1.${name}`,
    );
    for (const fileContainingSymbol of symbols) {
      expect((await filesFor(client, method, { fileContainingSymbol }))[0]?.name).toBe(A2AService.file.proto.name);
    }
    const type = { allExtensionNumbersOfType: "google.protobuf.MethodOptions" };
    const { allExtensionNumbersResponse } = await ask(client, method, type);
    expect(allExtensionNumbersResponse?.extensionNumber).toContain(http.number);
    const fileContainingExtension = { containingType: "google.protobuf.MethodOptions", extensionNumber: http.number };
    const [file] = await filesFor(client, method, { fileContainingExtension });
    expect(file?.name).toBe("google/api/annotations.proto");
  });

  it("names the entries of maps as the compiler does", async () => {
    const { client } = await serve(answering);
    const [health] = await filesFor(client, method, { fileContainingSymbol: "grpc.health.v1.Health" });
    const entries = health?.messageType
      .flatMap(({ nestedType }) => nestedType)
      .filter(({ options }) => options?.mapEntry);
    expect(entries?.map(({ name }) => name)).toEqual(["StatusesEntry"]);
  });

  it("says so when it does not know a symbol", async () => {
    const { client } = await serve(answering);
    const { errorResponse } = await ask(client, method, { fileContainingSymbol: "lf.a2a.v1.Nothing" });
    expect(errorResponse?.errorCode).toBe(status.NOT_FOUND);
  });

  it("can be switched off", async () => {
    const { client } = await serve(answering, { reflection: false });
    await expect(ask(client, method, { listServices: "*" })).rejects.toMatchObject({ code: status.UNIMPLEMENTED });
  });
});
