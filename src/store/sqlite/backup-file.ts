import { createHash, type Hash, randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import { StoreError } from "../task-store.js";
import { FILE_MODE } from "./private-file.js";

/** Bytes that are read at a time. */
const CHUNK_BYTES: number = 1024 * 1024;

/**
 * The end of a backup, after the last page of SQLite: a magic text, then the SHA-256 of everything before it. SQLite
 * ignores what follows the last page, and checks no contents of its own.
 */
const MAGIC: Buffer = Buffer.from("Parley backup 1\n", "latin1");
const DIGEST_BYTES = 32;
export const TRAILER_BYTES: number = MAGIC.length + DIGEST_BYTES;

/** A temporary name beside a file. A killed process leaves such a file, which may be removed. */
export function partialOf(target: string): string {
  return `${target}.${randomBytes(4).toString("hex")}.partial`;
}

/** Removes a temporary file, and the files that SQLite created beside it, as far as the folder allows it. */
export function removePartial(partial: string): void {
  for (const suffix of ["", "-journal", "-wal", "-shm"]) {
    try {
      rmSync(`${partial}${suffix}`, { force: true });
    } catch {
      // The error of the copy is more informative.
    }
  }
}

/**
 * Prepares a new file under a temporary name, so that its own name never leads to half a file.
 * @param work fills the temporary file, which exists and is empty
 * @throws StoreError `failed` if the folder does not exist, or if the file does: it is never replaced.
 */
export async function createWhole<T>(
  target: string,
  work: (partial: string) => Promise<T>,
  partial: string = partialOf(target),
): Promise<T> {
  checkNew(target);
  try {
    closeSync(openSync(partial, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, FILE_MODE));
    const result = await work(partial);
    sync(partial);
    publish(partial, target);
    sync(dirname(target));
    return result;
  } finally {
    removePartial(partial);
  }
}

/** @throws StoreError `failed` if a path is not that of a file. */
export function expectFile(path: string): void {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) throw new StoreError("failed", `Cannot open ${path}: the file does not exist.`);
  if (!stats.isFile()) throw new StoreError("failed", `Cannot open ${path}: it is not a file.`);
}

/** Endings of files beside a store. SQLite and Parley would take a backup of such a name for part of another store. */
const taken = /-(?:wal|shm|journal|lock)$/i;

/** @throws StoreError `failed` if a file cannot be created there. */
export function checkNew(target: string): void {
  const ending = taken.exec(target)?.[0];
  if (ending !== undefined) {
    throw new StoreError("failed", `Cannot write ${target}: files that end with ${ending} belong to another database.`);
  }
  const folder = dirname(target);
  if (!existsSync(folder) || !statSync(folder).isDirectory()) {
    throw new StoreError("failed", `Cannot write ${target}: the directory ${folder} does not exist.`);
  }
  if (lstatSync(target, { throwIfNoEntry: false }) !== undefined) throw exists(target);
}

function exists(target: string): StoreError {
  return new StoreError("failed", `${target} exists, and is not replaced. Move it away, or choose another name.`);
}

/** Gives a file its name, unless the name is taken meanwhile. */
function publish(partial: string, target: string): void {
  try {
    linkSync(partial, target);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") throw exists(target);
    // A file system without hard links.
    if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes(code)) throw error;
    checkNew(target);
    renameSync(partial, target);
  }
}

function sync(path: string): void {
  const fd = openSync(path, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

export async function addTrailer(path: string): Promise<void> {
  const file = await open(path, "r+");
  try {
    const { size } = await file.stat();
    const hash = createHash("sha256");
    await eachChunk(file, size, (chunk) => void hash.update(chunk));
    await file.write(Buffer.concat([MAGIC, hash.digest()]), 0, TRAILER_BYTES, size);
  } finally {
    await file.close();
  }
}

/**
 * Copies a file without its trailer.
 * @returns true if it had one, with the right digest; false if it had none
 * @throws StoreError `damaged` if the digest is wrong
 */
export async function copyWithoutTrailer(from: string, to: string): Promise<boolean> {
  const source = await open(from, "r");
  try {
    const { size, digest } = await endOf(source);
    const copied = await copy(source, to, size);
    if (digest === undefined) return false;
    if (copied.digest().equals(digest)) return true;
    throw new StoreError("damaged", `${from} is damaged: ${WRONG_DIGEST}.`);
  } finally {
    await source.close();
  }
}

export const WRONG_DIGEST: string = "its contents are not those that its digest was made of";

/** True if a file has a trailer with another digest than that of its contents. */
export async function hasWrongDigest(path: string): Promise<boolean> {
  const file = await open(path, "r");
  try {
    const { size, digest } = await endOf(file);
    if (digest === undefined) return false;
    const hash = createHash("sha256");
    await eachChunk(file, size, (chunk) => void hash.update(chunk));
    return !hash.digest().equals(digest);
  } finally {
    await file.close();
  }
}

/** Reads the size of a file without its trailer, and the digest in the trailer if there is one. */
async function endOf(file: FileHandle): Promise<{ readonly size: number; readonly digest: Buffer | undefined }> {
  const { size } = await file.stat();
  const end = Buffer.alloc(TRAILER_BYTES);
  if (size > TRAILER_BYTES) await file.read(end, 0, TRAILER_BYTES, size - TRAILER_BYTES);
  if (!end.subarray(0, MAGIC.length).equals(MAGIC)) return { size, digest: undefined };
  return { size: size - TRAILER_BYTES, digest: end.subarray(MAGIC.length) };
}

async function copy(source: FileHandle, to: string, bytes: number): Promise<Hash> {
  const hash = createHash("sha256");
  const target = await open(to, "r+");
  try {
    await eachChunk(source, bytes, async (chunk) => {
      hash.update(chunk);
      for (let at = 0; at < chunk.length; ) at += (await target.write(chunk, at)).bytesWritten;
    });
  } finally {
    await target.close();
  }
  return hash;
}

async function eachChunk(file: FileHandle, bytes: number, use: (chunk: Buffer) => Promise<void> | void): Promise<void> {
  const buffer = Buffer.alloc(CHUNK_BYTES);
  for (let at = 0; at < bytes; ) {
    const { bytesRead } = await file.read(buffer, 0, Math.min(CHUNK_BYTES, bytes - at), at);
    if (bytesRead === 0) throw new Error("the file became shorter while it was read");
    await use(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
}
