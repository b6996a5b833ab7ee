import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import {
  createFileRegistry,
  type DescField,
  type DescFile,
  type DescMessage,
  type DescMethod,
  fromBinary,
  type JsonObject,
  type JsonValue,
  type MessageShape,
  ScalarType,
  toJson,
} from "@bufbuild/protobuf";
import {
  FeatureSet_FieldPresence,
  FieldOptionsSchema,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  FileOptionsSchema,
  MethodOptionsSchema,
} from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { file_a2a_v1_a2a } from "../../gen/a2a/v1/a2a_pb.js";
import { file_lf_a2a_v1_a2a } from "../../gen/lf/a2a/v1/a2a_pb.js";
import facts from "./facts.json" with { type: "json" };
import earlierFacts from "./facts-v0.3.json" with { type: "json" };

const root = fileURLToPath(new URL("../..", import.meta.url));
const contracts = [
  { protoFile: "lf/a2a/v1/a2a.proto", facts, generated: file_lf_a2a_v1_a2a },
  { protoFile: "a2a/v1/a2a.proto", facts: earlierFacts, generated: file_a2a_v1_a2a },
];

// The contract that buf compiles from the sources on disk. Only the last test reads the generated code.
const registry = compile();

describe.each(contracts)("$protoFile", ({ protoFile, facts, generated }) => {
  const file = registry.getFile(protoFile);
  if (!file) throw new Error(`${protoFile} is not in the image that buf built`);

  it("keeps its syntax, package, imports and file options", () => {
    const { syntax, package: packageName, dependency } = file.proto;
    expect({
      syntax,
      package: packageName,
      imports: dependency,
      options: optionFacts(FileOptionsSchema, file.proto.options),
    }).toEqual({ syntax: facts.syntax, package: facts.package, imports: facts.imports, options: facts.options });
  });

  it("declares its service, messages and enums in order, and nothing else", () => {
    expect(declarationFacts(file)).toEqual(facts.declarations);
  });

  it("declares every rpc in order, with its types, HTTP rules and signatures", () => {
    expect(file.services.map((service) => ({ name: service.name, rpcs: service.methods.map(rpcFacts) }))).toEqual(
      facts.services,
    );
  });

  it("declares every field, with its number, type, JSON name, presence and behavior", () => {
    expect(file.messages.map(messageFacts)).toEqual(facts.messages);
  });

  it("declares every enum value, with its number", () => {
    expect(
      file.enums.map(({ name, values }) => ({
        name,
        values: values.map((value) => `${value.name} = ${value.number}`),
      })),
    ).toEqual(facts.enums);
  });

  it("sets options on the file, on rpcs and on fields only", () => {
    const others = [
      ...file.services,
      ...file.messages.flatMap((message) => [message, ...message.oneofs]),
      ...file.enums.flatMap((enumeration) => [enumeration, ...enumeration.values]),
    ];
    expect(others.filter(({ proto }) => proto.options).map(String)).toEqual([]);
  });

  it("is what the committed code was generated from", () => {
    expect(descriptorJson(generated)).toEqual(descriptorJson(file));
  });
});

function compile() {
  const image = execFileSync("buf", ["build", "--path", "proto/lf", "--path", "proto/a2a", "-o", "-#format=binpb"], {
    cwd: root,
    maxBuffer: 64 * 1024 * 1024,
  });
  return createFileRegistry(fromBinary(FileDescriptorSetSchema, image));
}

// Sorts declarations by their line in the source. A descriptor groups them by kind, and only its source info has the
// lines. The keys are the numbers of the groups in google.protobuf.FileDescriptorProto.
function declarationFacts({ proto }: DescFile): string[] {
  const groups: Record<number, { kind: string; members: { name: string }[] }> = {
    4: { kind: "message", members: proto.messageType },
    5: { kind: "enum", members: proto.enumType },
    6: { kind: "service", members: proto.service },
    7: { kind: "extension", members: proto.extension },
  };
  const locations = proto.sourceCodeInfo?.location ?? [];
  return locations
    .filter(({ path: [group = 0], path }) => path.length === 2 && group in groups)
    .sort(({ span: [a = 0] }, { span: [b = 0] }) => a - b)
    .map(({ path: [group = 0, index = 0] }) => `${groups[group]?.kind} ${groups[group]?.members[index]?.name}`);
}

function rpcFacts(method: DescMethod) {
  return {
    name: method.name,
    request: localName(method.input.typeName),
    response: localName(method.output.typeName),
    kind: method.methodKind,
    options: optionFacts(MethodOptionsSchema, method.proto.options),
  };
}

// Undefined members count as absent in toEqual(), because facts.json lists only the members that a message has.
function messageFacts(message: DescMessage) {
  const nested = [...message.nestedMessages, ...message.nestedEnums, ...message.nestedExtensions];
  return {
    name: message.name,
    oneofs: message.oneofs.length > 0 ? message.oneofs.map(({ name }) => name) : undefined,
    nested: nested.length > 0 ? nested.map(String) : undefined,
    fields: message.fields.map(fieldFact),
  };
}

// One line for each field, so that a difference shows as one line.
function fieldFact(field: DescField): string {
  const notes = { json: field.jsonName, presence: presence(field), ...(field.oneof && { oneof: field.oneof.name }) };
  const options = optionFacts(FieldOptionsSchema, field.proto.options);
  const list = Object.entries({ ...notes, ...options }).map(([key, value]) => `${key} ${value}`);
  return `${fieldType(field)} ${field.name} = ${field.number} [${list.join(", ")}]`;
}

function fieldType(field: DescField): string {
  switch (field.fieldKind) {
    case "map":
      return `map<${scalarName(field.mapKey)}, ${elementType(field)}>`;
    case "list":
      return `repeated ${elementType(field)}`;
    default:
      return field.proto.proto3Optional ? `optional ${elementType(field)}` : elementType(field);
  }
}

function elementType({ message, enum: enumeration, scalar }: DescField): string {
  const named = message ?? enumeration;
  return named ? localName(named.typeName) : scalarName(scalar);
}

function scalarName(scalar: ScalarType | undefined): string {
  return scalar === undefined ? "unknown" : ScalarType[scalar].toLowerCase();
}

function presence(field: DescField): string {
  if (field.fieldKind === "list" || field.fieldKind === "map") {
    return "none";
  }
  return FeatureSet_FieldPresence[field.presence].toLowerCase();
}

// Within the package, type names are written as the proto file writes them.
function localName(typeName: string): string {
  return typeName.replace(/^(?:lf\.)?a2a\.v1\./, "");
}

type OptionsSchema = typeof FileOptionsSchema | typeof MethodOptionsSchema | typeof FieldOptionsSchema;

/**
 * All set options, so that an additional one fails the test. `[google.api.http]` is shortened to `http`, which is not
 * the name of a built-in option.
 */
function optionFacts<Schema extends OptionsSchema>(
  schema: Schema,
  options: MessageShape<Schema> | undefined,
): Record<string, JsonValue> {
  const json = options ? toJson(schema, options, { registry, useProtoFieldName: true }) : {};
  return Object.fromEntries(
    Object.entries(json as JsonObject).map(([key, value]) => [key.replace(/^\[google\.api\.(\w+)\]$/, "$1"), value]),
  );
}

function descriptorJson(file: DescFile): JsonObject {
  const { sourceCodeInfo: _commentsAndLines, ...json } = toJson(FileDescriptorProtoSchema, file.proto, {
    registry,
  }) as JsonObject;
  return json;
}
