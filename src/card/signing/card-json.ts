import { isMessage } from "@bufbuild/protobuf";
import { type AgentCard, AgentCardSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { jsonWriter } from "../../wire/json-writer.js";

/** The input is not an agent card, or readers may interpret it differently. The message never quotes the input. */
export class CardFormError extends Error {
  override name = "CardFormError";
}

/** A card: a protobuf object, received JSON, or its text. */
export type CardInput = AgentCard | object | string | Uint8Array;

/**
 * The JSON of a card, as an object.
 *
 * @throws CardFormError for a text that is not a JSON object, or repeats a member.
 */
export function jsonOfCard(card: CardInput): Record<string, unknown> {
  if (isMessage(card, AgentCardSchema)) return JSON.parse(jsonWriter(AgentCardSchema)(card));
  const json = typeof card === "string" || card instanceof Uint8Array ? parseJson(card) : card;
  if (!isJsonObject(json)) throw new CardFormError("The card is not a JSON object.");
  return json;
}

/**
 * Parses JSON and rejects repeated members. Some readers take the first one and others the last, so a signature over
 * one would not cover the other (RFC 8785, 3.1).
 *
 * @throws CardFormError that does not quote the text, which may be a key.
 */
export function parseJson(given: string | Uint8Array): unknown {
  const text = typeof given === "string" ? given : decodeStrictly(given);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new CardFormError("It is not JSON.");
  }
  const written = text.replace(/"[^"\\]*(?:\\.[^"\\]*)*"/gs, "").split(":").length - 1;
  if (written !== membersIn(json)) throw new CardFormError("It has a member twice in one object.");
  return json;
}

function decodeStrictly(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new CardFormError("It is not in UTF-8.");
  }
}

/** Counts members without recursion, because JSON.parse accepts any depth. */
function membersIn(json: unknown): number {
  let count = 0;
  const waiting = [json];
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (typeof value !== "object" || value === null) continue;
    const inside = Object.values(value);
    if (!Array.isArray(value)) count += inside.length;
    for (const each of inside) waiting.push(each);
  }
  return count;
}
