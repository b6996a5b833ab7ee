import type { DescField, DescMessage, DescMethod, Message } from "@bufbuild/protobuf";
import { A2AService, type SendMessageRequest } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../../core/error.js";
import { defined, membersOf } from "../../core/members.js";
import { expectMessage } from "../../wire/expect-message.js";
import { fieldValue, listIn } from "../../wire/field-rules.js";
import { generationOf, weightOf } from "../../wire/marks.js";
import { sharedCopy } from "../../wire/serialization-cache.js";
import { resumeParameters } from "../../wire/service-params.js";
import { type NumberInField, nativeFacts, setVersionFacts, type VersionFacts } from "../facts.js";
import { type MethodHandler, mapAnswer } from "../method-handler.js";
import { service as contract, fieldThatSays, type Meaning } from "./contract.js";

/** The conversion between a method of 1.1 and the service's. */
interface Translation {
  readonly native: DescMethod;
  readonly known: ReadNumber;
  readonly expected: ReadNumber;
  readonly down: (answer: Message) => Message;
}

type ReadNumber = (request: Message) => NumberInField | undefined;

/** The facts of calls that name no generation. */
const facts: VersionFacts = Object.freeze({ ...nativeFacts, hasGenerations: true });

const unchanged = (message: Message): Message => message;

const natives = new Map(A2AService.methods.map((method) => [method.name, method]));

/** Copies of large tasks, shared by all readers of the same task. */
const copies = new WeakMap<Message, Message>();

const translations: ReadonlyMap<string, Translation> = new Map(
  contract.methods.map(({ name, input, output }) => {
    const native = defined(natives.get(name));
    const [known, expected] = [reader("known", input), reader("expected", input)];
    return [name, { native, known, expected, down: noting(output) ?? unchanged }];
  }),
);

/**
 * Calls of 1.1 are those of 1.0 with the values of the new fields; responses are those of 1.0 with the new fields
 * filled. Messages are otherwise equal, so requests are passed on unchanged.
 */
export function translate(service: MethodHandler): MethodHandler {
  return async ({ method, request, call }) => {
    const { native, known, expected, down } = defined(translations.get(method.name));
    const isNew = messageTaskId(request) === "";
    // A new task has no generation, and the draft says to ignore the field.
    const wanted = isNew ? undefined : expected(request);
    setVersionFacts(call, factsWith(known(request), wanted));
    let answer: Awaited<ReturnType<MethodHandler>>;
    try {
      answer = await service({ method: native, request, call });
    } catch (error) {
      throw mismatchOf(error, request, wanted?.value ?? call.header(resumeParameters.expected)?.trim());
    }
    return mapAnswer(answer, down);
  };
}

/** Returns the task's id of a message; undefined for other requests. */
function messageTaskId(request: Message): string | undefined {
  return (request as Partial<SendMessageRequest>).message?.taskId;
}

/** Converts a generation mismatch to the draft's error. Any other error is unchanged. */
function mismatchOf(error: unknown, request: Message, expected: bigint | string | undefined): unknown {
  if (!(error instanceof A2AError) || error.reason !== "GENERATION_MISMATCH") return error;
  const { generation = "", messages = "0" } = error.metadata;
  const metadata = {
    taskId: messageTaskId(request) ?? "",
    expectedGeneration: `${expected ?? ""}`,
    currentGeneration: generation,
    // The generation then equals the expected one, but a message accepted since is not answered yet.
    ...(messages !== "0" && { messages }),
  };
  return new A2AError("TASK_GENERATION_MISMATCH", error.message, { metadata, cause: error });
}

function factsWith(known: NumberInField | undefined, expected: NumberInField | undefined): VersionFacts {
  return known === undefined && expected === undefined ? facts : { ...facts, known, expected };
}

/** Returns the reader of a number in a request: of the request itself, or of a message in it. */
function reader(meaning: Meaning, desc: DescMessage): ReadNumber {
  const own = fieldThatSays(meaning, desc);
  if (own !== undefined) return (request) => numbered(own.jsonName, membersOf(request)[own.localName]);
  for (const holder of desc.fields) {
    const field = holder.fieldKind === "message" ? fieldThatSays(meaning, holder.message) : undefined;
    if (field === undefined) continue;
    const path = `${holder.jsonName}.${field.jsonName}`;
    return (request) => {
      return numbered(path, membersOf(membersOf(request)[holder.localName])[field.localName]);
    };
  }
  return () => undefined;
}

function numbered(field: string, value: unknown): NumberInField | undefined {
  return typeof value === "bigint" ? { field, value } : undefined;
}

/** Returns a function that copies a message with its generation; undefined for a type without that field. */
function noting(desc: DescMessage): ((message: Message) => Message) | undefined {
  const own = fieldThatSays("generation", desc);
  if (own !== undefined) return (message) => copyWithGeneration(message, own, generationOf(message));
  const holders = desc.fields.flatMap((holder) => {
    const field = holder.message && fieldThatSays("generation", holder.message);
    return field === undefined ? [] : [{ holder, field }];
  });
  if (holders.length === 0) return undefined;
  return (message) => {
    const changes: Record<string, unknown> = {};
    for (const { holder, field } of holders) Object.assign(changes, notedInside(message, holder, field));
    return sharedCopy(message, changes);
  };
}

function notedInside(message: Message, holder: DescField, field: DescField): Record<string, unknown> {
  const ofStream = generationOf(message);
  const copy = (inner: Message): Message => copyWithGeneration(inner, field, generationOf(inner) ?? ofStream);
  const { localName, oneof, message: desc } = holder;
  const value = fieldValue(message, holder);
  if (value === undefined || desc === undefined) return {};
  if (holder.fieldKind === "list") return { [localName]: listIn(value).map((each) => copy(expectMessage(desc, each))) };
  if (oneof === undefined) return {};
  return { [oneof.localName]: { case: localName, value: copy(expectMessage(desc, value)) } };
}

function copyWithGeneration(message: Message, { localName }: DescField, generation: number | undefined): Message {
  const known = copies.get(message);
  if (known !== undefined) return known;
  // 0 means that the server does not count.
  const copy = sharedCopy(message, { [localName]: BigInt(generation ?? 0) });
  if (weightOf(message) !== undefined) copies.set(message, copy);
  return copy;
}
