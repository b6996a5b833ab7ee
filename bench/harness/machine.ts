import { closeSync, existsSync, fsyncSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { cpus, loadavg, release, totalmem } from "node:os";
import { join } from "node:path";
import { sqliteDriver } from "../../src/store/sqlite/driver/choose.js";
import { median } from "./rates.js";

/** Where packages are: the bench's own, or those of the project. */
const FOLDERS = [join(import.meta.dirname, ".."), join(import.meta.dirname, "..", "..")];

/** Packages that are measured, or that decide the costs of measured ones. */
const PACKAGES = ["@a2a-js/sdk", "@bufbuild/protobuf", "@connectrpc/connect-node", "@grpc/grpc-js"];

/** Facts about the machine that the figures depend on. */
export interface Machine {
  readonly node: string;
  readonly platform: string;
  readonly cpus: number;
  readonly cpu: string;
  readonly memoryGb: number;
  /** Processes that wanted a core before the bench began, on average: with many, only ratios mean something. */
  readonly loadBefore: number;
  /** A write of 4 KB made safe on the disk of the SQLite files, in microseconds. */
  readonly fsyncMicros: number;
  readonly versions: Readonly<Record<string, string>>;
}

function versionOf(name: string): string {
  const files = FOLDERS.map((folder) => join(folder, "node_modules", name, "package.json"));
  const file = files.find((path) => existsSync(path));
  if (file === undefined) throw new Error(`${name} is not installed`);
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}

/** The median of 100 writes. */
function measureFsync(directory: string): number {
  const path = join(directory, "fsync");
  const file = openSync(path, "w");
  const block = Buffer.alloc(4_096, 1);
  const times: number[] = [];
  for (let count = 0; count < 100; count++) {
    const start = performance.now();
    writeSync(file, block);
    fsyncSync(file);
    times.push((performance.now() - start) * 1_000);
  }
  closeSync(file);
  rmSync(path);
  return median(times);
}

/** @param directory where the files of the bench are */
export function describeMachine(directory: string): Machine {
  const [loadBefore = 0] = loadavg();
  const sqlite = sqliteDriver();
  return {
    node: process.version,
    platform: `${process.platform} ${release()}`,
    cpus: cpus().length,
    cpu: cpus()[0]?.model ?? "",
    memoryGb: Math.round(totalmem() / 1024 ** 3),
    loadBefore,
    fsyncMicros: measureFsync(directory),
    versions: {
      ...Object.fromEntries(PACKAGES.map((name) => [name, versionOf(name)])),
      SQLite: `${sqlite.version} (${sqlite.name})`,
    },
  };
}

export function machineLine({ node, platform, cpus: count, cpu, loadBefore, fsyncMicros }: Machine): string {
  const fsync = `fsync ${fsyncMicros.toFixed(0)} us`;
  return `node ${node}, ${platform}, ${count} x ${cpu}, ${fsync}, load ${loadBefore.toFixed(1)} before`;
}
