import { createReadStream } from "node:fs";
import type { Readable } from "node:stream";
import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import { AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { missingFields } from "../card/required.js";
import { membersOfCard } from "../card/signing/canonical.js";
import { CardFormError, jsonOfCard } from "../card/signing/card-json.js";
import { importCardKeys } from "../card/signing/card-keys.js";
import { FetchTextError, fetchText, jkuFault } from "../card/signing/key-sets.js";
import { signaturesFor } from "../card/signing/sign.js";
import { CardKeyError, readKeySet, readPublicKey } from "../card/signing/trusted-keys.js";
import { type CardTrust, type SignatureResult, verifyCard } from "../card/signing/verify.js";
import { attempt, messageIn } from "../core/members.js";
import { parseUrl } from "../core/net.js";
import { WELL_KNOWN_PATH } from "../wire/card-names.js";
import { readKeyFile } from "./card-key-files.js";
import { UsageError } from "./command-error.js";
import { printable } from "./log.js";

/** Limits of fetching a card or JWKS: size in bytes, timeout in milliseconds. */
const LIMITS = { maxBytes: 1024 * 1024, timeoutMs: 10_000 };

/** `parley card sign`: prints the card with its signatures. */
export async function signCommand(file: string, flags: SignFlags): Promise<void> {
  const { key: files, kid: kids, jku, add, alsoWithoutEmpty } = flags;
  if (kids.length > 0 && kids.length !== files.length)
    throw new UsageError("give --kid as often as --key, or not at all");
  const fault = jku === undefined ? undefined : jkuFault(jku);
  if (fault !== undefined) throw new UsageError(`--jku ${fault}`);
  const json = await explained(`the card ${file}`, async () => jsonOfCard(await read(file)));
  await explained(`the card ${file}`, async () => checkForm(json));
  const keys = await importCardKeys(
    "--key",
    files.map((path, i) => ({ key: readKeyFile(path, warn), ...(kids[i] !== undefined && { kid: kids[i] }) })),
  );
  const made = await signaturesFor(json, keys, { jku, alsoWithoutEmpty });
  const before = add && Array.isArray(json.signatures) ? json.signatures : [];
  const signatures = [...before, ...made.map(({ protected: head, signature }) => ({ protected: head, signature }))];
  process.stdout.write(`${JSON.stringify({ ...json, signatures }, null, 2)}\n`);
}

/** @throws UsageError for unknown members: other readers drop them before they verify, so no signature would match. */
function checkForm(json: Record<string, unknown>): void {
  const { known, unknown } = membersOfCard(json);
  if (unknown.length > 0) {
    throw new UsageError(`the card has members that A2A 1.0 does not know: ${printable(unknown.join(", "))}`);
  }
  const card = attempt(
    () => fromJson(AgentCardSchema, known as JsonValue),
    (cause) => {
      throw new UsageError("it is not a valid agent card", { cause });
    },
  );
  for (const missing of missingFields(reflect(AgentCardSchema, card))) warn(`in the card ${missing}`);
}

/** `parley card verify`: prints a line for each signature. The exit code is 0 if one of them is valid. */
export async function verifyCommand(from: string, flags: VerifyFlags): Promise<void> {
  const { key, jwks, jku, acceptWithoutEmpty } = flags;
  if (key.length + jwks.length + jku.length === 0) {
    throw new UsageError("no key is trusted: give --key, --jwks or --jku");
  }
  for (const url of [...jku, ...jwks.filter(isUrl)]) {
    const fault = jkuFault(url);
    if (fault !== undefined) throw new UsageError(`${printable(url)} ${fault}`);
  }
  const keys = await Promise.all(
    key.map((path) => explained(`the key ${path}`, async () => readPublicKey(await read(path)))),
  );
  const sets = await Promise.all(
    jwks.map((place) => explained(`the JWKS ${place}`, async () => readKeySet(await read(place)))),
  );
  const trust: CardTrust = {
    ...LIMITS,
    keys,
    jwks: { keys: sets.flat() },
    jku,
    acceptWithoutEmpty,
  };
  const { verified, card, signatures, uncovered } = await explained(`the card ${from}`, async () =>
    verifyCard(await read(cardUrl(from)), trust),
  );
  const lines = signatures.map(lineOf);
  const name = JSON.stringify(card.name);
  if (signatures.length === 0) lines.push(`The card of ${name} has no signatures.`);
  else if (!verified) lines.push(`The card of ${name} has no valid signature by a key that is trusted.`);
  else lines.push(`The card of ${name} is signed by a key that is trusted.`);
  if (verified && uncovered.length > 0) lines.push(`No signature covers: ${uncovered.join(", ")}`);
  process.stdout.write(lines.map((line) => `${printable(line)}\n`).join(""));
  process.exitCode = verified ? 0 : 1;
}

function lineOf({ index, kid, alg, valid, trustedBy, fault, why }: SignatureResult): string {
  if (!valid) return `signature ${index + 1}: not valid (${fault}): ${why}`;
  const from =
    trustedBy === "keys" || trustedBy === "jwks" ? `from --${trustedBy === "keys" ? "key" : trustedBy}` : trustedBy;
  return `signature ${index + 1}: valid, ${alg} by the key ${JSON.stringify(kid)} ${from}`;
}

const isUrl = (place: string): boolean => /^https?:\/\//i.test(place);

/** The card URL of a bare origin. */
function cardUrl(from: string): string {
  const url = isUrl(from) ? parseUrl(from) : undefined;
  if (url === undefined) return from;
  return url.pathname === "/" && url.search === "" ? new URL(WELL_KNOWN_PATH, url).href : url.href;
}

/** The text of a file, a URL or stdin. */
async function read(place: string): Promise<string> {
  if (isUrl(place)) return fetchText(place, LIMITS);
  const stream: Readable = place === "-" ? process.stdin : createReadStream(place);
  const pieces: Buffer[] = [];
  let size = 0;
  try {
    for await (const piece of stream) {
      size += (piece as Buffer).length;
      if (size > LIMITS.maxBytes) throw new Error(`it has more than ${LIMITS.maxBytes} bytes`);
      pieces.push(piece as Buffer);
    }
  } catch (cause) {
    throw new UsageError(`cannot be read (${messageIn(cause)})`, { cause });
  }
  return Buffer.concat(pieces).toString("utf8");
}

async function explained<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const isMistake =
      cause instanceof CardFormError ||
      cause instanceof CardKeyError ||
      cause instanceof FetchTextError ||
      cause instanceof UsageError;
    if (!isMistake) throw cause;
    throw new UsageError(printable(`${what}: ${cause.message.replace(/\.$/, "")}`), { cause });
  }
}

function warn(sentence: string): void {
  process.stderr.write(`parley: ${printable(sentence)}\n`);
}

export interface SignFlags {
  readonly key: readonly string[];
  readonly kid: readonly string[];
  readonly jku?: string;
  readonly add: boolean;
  readonly alsoWithoutEmpty: boolean;
}

export interface VerifyFlags {
  readonly key: readonly string[];
  readonly jwks: readonly string[];
  readonly jku: readonly string[];
  readonly acceptWithoutEmpty: boolean;
}
