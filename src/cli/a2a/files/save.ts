import { mkdir, open, rename, rm } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import type { Artifact, Message, Part, Task } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { newId } from "../../../core/ids.js";
import { messageIn } from "../../../core/members.js";
import type { Context } from "../context.js";
import { Failure } from "../errors.js";
import { extensionOf } from "../media-types.js";
import { field, singleLine } from "../text.js";

/** Files of one name that are tried before saving fails. */
const MAX_SAME_NAME = 1_000;

interface Saving {
  /** Folder, which is created. */
  readonly folder: string;
  /** True to save texts and data as well. */
  readonly isWhole: boolean;
  /** True to replace files. Otherwise a file of the same name gets a number. */
  readonly isForced: boolean;
  /** True to fetch the files of URLs. */
  readonly fetches: boolean;
  /** Hosts that are fetched from at any address. Others need a public one. */
  readonly hosts: readonly string[];
}

/** Parts with a name for those that have none. */
interface Owner {
  readonly id: string;
  readonly parts: readonly Part[];
}

/** Reads the options of saving. @param folder undefined to save nothing */
export function savingOf(context: Context, folder: string, isWhole: boolean): Saving {
  return {
    folder: resolve(context.io.cwd, folder),
    isWhole,
    isForced: context.own("force").length > 0,
    fetches: context.own("fetch-urls").length > 0,
    hosts: context.own("fetch-host"),
  };
}

/** Saves the parts of artifacts and messages, in their order. @returns the paths @throws Failure */
export async function saveParts(
  context: Context,
  owners: readonly Owner[],
  saving: Saving,
): Promise<readonly string[]> {
  const paths: string[] = [];
  try {
    await mkdir(saving.folder, { recursive: true });
    for (const { id, parts } of owners) {
      for (const [at, part] of parts.entries()) {
        const path = await savePart(context, part, `${id}-${at + 1}`, saving);
        if (path !== undefined) paths.push(path);
      }
    }
  } catch (error) {
    if (error instanceof Failure || context.signal.aborted) throw error;
    throw new Failure("PARLEY_ERR_NOT_SAVED", `A file cannot be saved: ${messageIn(error)}`, {
      hint: "choose another folder",
      cause: error,
    });
  }
  return paths;
}

/** Saves the files of an answer, if `--save-fileparts` asks for it, and prints their paths. @throws Failure */
export async function saveFiles(context: Context, answer: Task | Message): Promise<void> {
  const folder = context.own("save-fileparts").at(-1);
  if (folder === undefined) return;
  const messages =
    "messageId" in answer ? [answer] : answer.status?.message === undefined ? [] : [answer.status.message];
  const artifacts = "artifacts" in answer ? answer.artifacts : [];
  const owners = [...artifacts.map(ownerOf), ...messages.map(({ messageId, parts }) => ({ id: messageId, parts }))];
  printSaved(context, await saveParts(context, owners, savingOf(context, folder, false)));
}

/** Prints the paths of files: text on stdout, with JSON on stderr. */
export function printSaved({ out }: Context, paths: readonly string[]): void {
  for (const path of paths) {
    if (out.mode.isJson) out.note(`Saved: ${path}`);
    else out.text(field("Saved", path));
  }
}

/** Returns an artifact as the owner of its parts. */
export function ownerOf({ artifactId, parts }: Artifact): Owner {
  return { id: artifactId, parts };
}

async function savePart(
  context: Context,
  { content, filename, mediaType }: Part,
  otherwise: string,
  saving: Saving,
): Promise<string | undefined> {
  const named = (extension: string): string =>
    safeName(filename) || `${safeName(otherwise) || "part"}${extensionOf(mediaType) ?? extension}`;
  switch (content.case) {
    case "raw":
      return write(named(""), content.value, saving);
    case "text":
      return saving.isWhole ? write(named(".txt"), content.value, saving) : undefined;
    case "data": {
      const json = `${JSON.stringify(toJson(ValueSchema, content.value), null, 2)}\n`;
      return saving.isWhole ? write(named(".json"), json, saving) : undefined;
    }
    case "url":
      return saveUrl(context, content.value, named(""), saving);
    default:
      return undefined;
  }
}

async function saveUrl(context: Context, url: string, name: string, saving: Saving): Promise<string | undefined> {
  if (!saving.fetches) {
    context.out.note(`note: ${singleLine(url)} is not fetched (--fetch-urls)`);
    return undefined;
  }
  // Loaded on use: it imports modules of the server.
  const { fetchTo } = await import("./fetch.js");
  return create(name, saving, (file) => fetchTo(url, file, { hosts: saving.hosts, signal: context.signal }));
}

function write(name: string, content: string | Uint8Array, saving: Saving): Promise<string> {
  return create(name, saving, (file) => file.writeFile(content));
}

type File = Awaited<ReturnType<typeof open>>;

/** Creates a file that did not exist, so that no link is followed. A forced one is written beside, and then renamed. */
async function create(
  name: string,
  { folder, isForced }: Saving,
  fill: (file: File) => Promise<void>,
): Promise<string> {
  const { file, path } = await openNew(folder, isForced ? `.${newId()}` : name);
  try {
    await fill(file);
    await file.close();
    if (!isForced) return path;
    await rename(path, join(folder, name));
    return join(folder, name);
  } catch (error) {
    await file.close().catch(() => {});
    await rm(path, { force: true });
    throw error;
  }
}

async function openNew(folder: string, name: string): Promise<{ readonly file: File; readonly path: string }> {
  const [stem, extension] = splitName(name);
  for (let number = 1; number <= MAX_SAME_NAME; number++) {
    const path = join(folder, number === 1 ? name : `${stem} (${number})${extension}`);
    try {
      return { file: await open(path, "wx", 0o644), path };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
  throw new Error(`there are ${MAX_SAME_NAME} files of the name ${name}`);
}

/** Longest name of a saved file, in bytes of UTF-8. Most file systems allow 255. */
const MAX_NAME_BYTES = 200;

/** Names that Windows reserves for devices, with any extension. */
const device = /^(?:con|prn|aux|nul|com[0-9\u00b9\u00b2\u00b3]|lpt[0-9\u00b9\u00b2\u00b3]|conin\$|conout\$)(?:\.|$)/i;

/**
 * Returns a safe name for a file that an agent names: a name without folders, without characters that a terminal or a
 * file system could take for something else, and neither hidden nor a device. Empty if nothing of it is left.
 */
export function safeName(given: string): string {
  const [last = ""] = given.split(/[\\/]/).slice(-1);
  const plain = basename(last)
    .toWellFormed()
    // Control and formatting characters, such as those that turn the direction of text.
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}<>:"|?*]/gu, "")
    .replace(/^[.\s]+|[.\s]+$/g, "");
  return shortened(device.test(plain) ? `_${plain}` : plain);
}

/** Returns the parts of a name around its extension, which may be empty. */
function splitName(name: string): readonly [stem: string, extension: string] {
  const at = name.lastIndexOf(".");
  return at > 0 && name.length - at <= 16 ? [name.slice(0, at), name.slice(at)] : [name, ""];
}

function shortened(name: string): string {
  const [stem, extension] = splitName(name);
  const left = MAX_NAME_BYTES - Buffer.byteLength(extension);
  let short = stem;
  while (Buffer.byteLength(short) > left) short = [...short].slice(0, -1).join("");
  return short + extension;
}
