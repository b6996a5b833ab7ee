import {
  clone,
  create,
  createFileRegistry,
  type DescField,
  type DescFile,
  type DescMessage,
  type DescService,
} from "@bufbuild/protobuf";
import {
  type DescriptorProto,
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FieldDescriptorProtoSchema,
  FileDescriptorProtoSchema,
  OneofDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";
import { A2AService } from "../../../gen/lf/a2a/v1/a2a_pb.js";

/** Meaning of a field. */
export type Meaning =
  /** The generation of the task, or the one that an event brings its reader to. */
  | "generation"
  /** The generation that the caller knows; the answer waits for a later one. */
  | "known"
  /** The generation that the caller expects; the message is rejected at any other. */
  | "expected";

/** A field that 1.1 adds to a message of 1.0. */
interface NewField {
  /** Name of the message. */
  readonly message: string;
  readonly name: string;
  readonly number: number;
  readonly isOptional?: true;
  readonly says: Meaning;
}

/**
 * Additions of 1.1 to the contract of 1.0: the one table from which codecs, routes, queries and behaviour derive. All
 * are `int64`, a string in JSON. The numbers are those of the draft.
 */
const newFields: readonly NewField[] = [
  { message: "Task", name: "generation", number: 7, says: "generation" },
  { message: "TaskStatusUpdateEvent", name: "generation", number: 5, says: "generation" },
  { message: "TaskArtifactUpdateEvent", name: "generation", number: 7, says: "generation" },
  { message: "GetTaskRequest", name: "current_generation", number: 4, isOptional: true, says: "known" },
  { message: "SendMessageConfiguration", name: "if_generation_match", number: 5, isOptional: true, says: "expected" },
];

/** The contract of 1.0 with the fields of 1.1, in the same package, so that each version reads the other's messages. */
export const service: DescService = extended(A2AService.file, A2AService.typeName);

function extended(file: DescFile, typeName: string): DescService {
  const proto = clone(FileDescriptorProtoSchema, file.proto);
  for (const field of newFields) {
    const message = proto.messageType.find(({ name }) => name === field.message);
    if (message === undefined) throw new TypeError(`1.0 has no message ${field.message}`);
    add(message, field);
  }
  const imports = new Map(allImports(file).map((each) => [each.proto.name, each]));
  const registry = createFileRegistry(proto, (name) => imports.get(name));
  return registry.getService(typeName) as DescService;
}

function add(message: DescriptorProto, { name, number, isOptional }: NewField): void {
  const taken = message.field.find((each) => each.number === number || each.name === name);
  if (taken !== undefined)
    throw new TypeError(`${message.name}.${taken.name} has number ${number} or the name ${name} already`);
  const field = create(FieldDescriptorProtoSchema, {
    name,
    number,
    type: FieldDescriptorProto_Type.INT64,
    label: FieldDescriptorProto_Label.OPTIONAL,
    jsonName: name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
  });
  if (isOptional === true) {
    // The proto3 encoding of an optional number: a one-of of its own.
    field.proto3Optional = true;
    field.oneofIndex = message.oneofDecl.push(create(OneofDescriptorProtoSchema, { name: `_${name}` })) - 1;
  }
  message.field.push(field);
}

function allImports(file: DescFile): DescFile[] {
  const all = new Set(file.dependencies);
  // The loop also visits elements added meanwhile.
  for (const each of all) for (const dependency of each.dependencies) all.add(dependency);
  return [...all];
}

/** Returns the field of a message with the given meaning, if it has one. */
export function fieldThatSays(meaning: Meaning, desc: DescMessage): DescField | undefined {
  const row = newFields.find(({ message, says }) => message === desc.name && says === meaning);
  return row && desc.fields.find(({ name }) => name === row.name);
}
