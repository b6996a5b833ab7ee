import { basename, resolve } from "node:path";
import { create, fromJson, type JsonValue } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import {
  type Part,
  PartSchema,
  Role,
  type SendMessageRequest,
  SendMessageRequestSchema,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { newId } from "../../core/ids.js";
import { attempt } from "../../core/members.js";
import type { PartInput } from "../../task/message-input.js";
import { jsonReader } from "../../wire/json-reader.js";
import { parsedJson } from "../../wire/parsed-json.js";
import type { Context } from "./context.js";
import { usage, usageOf } from "./errors.js";
import { decodeInput, fileBytes, stdinBytes, stdinText } from "./inputs.js";
import { mediaTypeOf } from "./media-types.js";

const kinds: Readonly<Record<string, "text" | "file" | "data" | "type">> = {
  "text-part": "text",
  text: "text",
  "file-part": "file",
  file: "file",
  "data-part": "data",
  data: "data",
  "media-type": "type",
};

/** Reads the parts of a message in the order of the command line. @throws Failure for a part that cannot be read */
export async function partsOf(context: Context, text: string | undefined): Promise<Part[]> {
  const flags = context.given.filter(({ name }) => kinds[name] !== undefined);
  const fromStdin = [text, ...flags.map(({ value }) => value)].filter((value) => value === "-").length;
  if (fromStdin > 1) throw usage("only one part can be read from stdin (-)");
  const parts = text === undefined ? [] : [await textPart(context, text)];
  let isTypeAllowed = false;
  for (const { name, value } of flags) {
    const kind = kinds[name];
    const given = String(value);
    if (kind === "type") {
      const last = parts.at(-1);
      if (!isTypeAllowed || last === undefined) throw usage("--media-type has to follow the part that it describes");
      last.mediaType = given;
      isTypeAllowed = false;
      continue;
    }
    if (kind === "text") parts.push(await textPart(context, given));
    else parts.push(kind === "file" ? await filePart(context, given) : await dataPart(context, given));
    isTypeAllowed = true;
  }
  return parts;
}

async function textPart(context: Context, given: string): Promise<Part> {
  const value = given === "-" ? await stdinText(context, "--text-part") : given;
  if (value === "") throw usage("a text part is empty");
  return create(PartSchema, { content: { case: "text", value } });
}

/** Reads a file as a part of a message, as plain values. @throws Failure */
export async function filePartOf(context: Context, path: string): Promise<PartInput> {
  if (path === "" || path === "-") throw usage("name a file");
  const { content, filename, mediaType } = await filePart(context, path);
  const more = { ...(filename !== "" && { filename }), ...(mediaType !== "" && { mediaType }) };
  if (content.case === "url") return { url: content.value, ...more };
  return { raw: content.case === "raw" ? content.value : new Uint8Array(), ...more };
}

async function filePart(context: Context, given: string): Promise<Part> {
  const mediaType = mediaTypeOf(given.replace(/[?#].*$/, ""));
  if (/^(?:https?|s3|gs|ftps?):\/\//i.test(given)) {
    return create(PartSchema, { content: { case: "url", value: given }, mediaType });
  }
  const flag = "--file-part";
  const path = resolve(context.io.cwd, given);
  const value = given === "-" ? await stdinBytes(context, flag) : await fileBytes(context, path, flag);
  const filename = given === "-" ? "" : basename(given);
  return create(PartSchema, { content: { case: "raw", value }, filename, mediaType });
}

async function dataPart(context: Context, given: string): Promise<Part> {
  const json = await jsonArgument(context, given, "--data-part");
  return create(PartSchema, {
    content: { case: "data", value: fromJson(ValueSchema, json) },
    mediaType: "application/json",
  });
}

/** Reads a whole request. @throws Failure */
export async function payloadOf(
  context: Context,
  given: string,
  text: string | undefined,
): Promise<SendMessageRequest> {
  const excluded = [
    "message-id",
    "history",
    "metadata",
    "task-id",
    "context-id",
    "async",
    "return-immediately",
    "no-wait",
  ];
  const also = context.given.find(({ name }) => kinds[name] !== undefined || excluded.includes(name));
  if (text !== undefined || also !== undefined) {
    throw usage(`--request-payload excludes ${also === undefined ? "a text" : `--${also.name}`}`);
  }
  const json = await jsonArgument(context, given, "--request-payload");
  const request = attempt(() => jsonReader(SendMessageRequestSchema)(json), usageOf("--request-payload: "));
  if (request.message === undefined) throw usage("--request-payload has no message");
  if (request.message.messageId === "") request.message.messageId = newId();
  request.message.role = Role.USER;
  return request;
}

/** Reads JSON from an argument, from the file that it names, or from stdin (`-`). @throws Failure */
export async function jsonArgument(context: Context, given: string, flag: string): Promise<JsonValue> {
  let text = given;
  if (given === "-") text = await stdinText(context, flag);
  else if (!/^\s*[[{"]/.test(given)) {
    const file = await fileBytes(context, resolve(context.io.cwd, given), flag).catch((error: unknown) => error);
    if (file instanceof Uint8Array) text = decodeInput(file, `${flag}: ${given}`);
    else if (!/^\s*(?:-?\d|true\b|false\b|null\b)/.test(given)) throw file;
  }
  const json = parsedJson(text);
  if (json !== undefined) return json as JsonValue;
  throw usage(`${flag}: ${given === "-" ? "stdin" : JSON.stringify(given.slice(0, 60))} is neither a file nor JSON`);
}
