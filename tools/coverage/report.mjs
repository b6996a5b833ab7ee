/**
 * node tools/coverage/report.mjs: which lines of `src` and `contract` the tests have run, from what `test/support/counting.ts`
 * has written in one or several runs. Ends with 1 if it is less than the numbers below.
 *
 * The lines that only processes of their own run are not counted: the command line, the thread of the SQLite store, and servers
 * that are killed.
 */
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { mergeProcessCovs } from "@bcoe/v8-coverage";
import toIstanbul from "ast-v8-to-istanbul";
import { build } from "esbuild";
import coverage from "istanbul-lib-coverage";
import { createContext } from "istanbul-lib-report";
import reports from "istanbul-reports";
import { parseAstAsync } from "vite";
import { asCompiled } from "../compiled.mjs";

const root = join(fileURLToPath(import.meta.url), "../../..");
const raw = join(root, ".cache/coverage/raw");

/**
 * Required coverage, one point below the present one: of all files, and of the folders that store and send.
 * Branches are counted on the compiled code.
 */
const thresholds = [
  { files: /./, statements: 91.9, branches: 87.2, functions: 92.3, lines: 93.4 },
  { files: /^src\/engine\//, statements: 94.6, branches: 90.6, functions: 96.4, lines: 96.4 },
  { files: /^(src\/store|contract)\//, statements: 89.7, branches: 81.6, functions: 89.9, lines: 90.8 },
  { files: /^src\/task\//, statements: 95.7, branches: 92, functions: 99, lines: 97.9 },
  { files: /^src\/wire\//, statements: 96, branches: 91.8, functions: 95.7, lines: 97.3 },
];

/** The functions of each compiled file, with their counts from all workers. */
function counted() {
  const files = existsSync(raw) ? readdirSync(raw) : [];
  if (files.length === 0) throw new Error("There are no counts: `npm run coverage` runs the tests that make them.");
  const taken = files.map((file) => JSON.parse(readFileSync(join(raw, file), "utf8")));
  rmSync(raw, { recursive: true });
  const scripts = taken.map((counts) => ({
    result: counts.map(({ file, functions }, at) => ({ scriptId: `${at}`, url: file, functions })),
  }));
  return new Map(mergeProcessCovs(scripts).result.map(({ url, functions }) => [url, functions]));
}

/** The sources, compiled as they were for the tests. */
async function compiled() {
  const sources = ["src", "contract"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .map((name) => join(folder, name))
      .filter((name) => /\.tsx?$/.test(name) && !/\.d\.ts$|^src\/cli\//.test(name)),
  );
  const options = { entryPoints: sources, absWorkingDir: root, outdir: root, outbase: root, write: false };
  const { outputFiles } = await build({ ...options, ...asCompiled });
  const texts = new Map(outputFiles.map(({ path, text }) => [path, text]));
  return sources.map((source) => {
    const path = join(root, source.replace(/tsx?$/, "js"));
    return { source, code: texts.get(path), map: JSON.parse(texts.get(`${path}.map`)) };
  });
}

/** Sources that tests replace by another program (`test/support/bundles.ts`). */
const replaced = ["src/store/sqlite/start-writer.ts", "src/store/sqlite/writer.ts"];

async function mapOf({ source, code, map }, counts) {
  const functions = (!replaced.includes(source) && counts.get(source.replace(/tsx?$/, "js"))) || [];
  const length = functions[0]?.ranges[0].endOffset ?? code.length;
  if (length !== code.length) throw new Error(`The counts of ${source} are of another version: count again.`);
  const url = pathToFileURL(join(root, source)).href;
  const sourceMap = { ...map, sourceRoot: "", sources: [url] };
  return toIstanbul({
    code,
    sourceMap,
    ast: await parseAstAsync(code),
    coverage: { functions, url },
    wrapperLength: 0,
  });
}

/** Returns one line for each number that is below its threshold. */
function missing(all) {
  return thresholds.flatMap(({ files, ...numbers }) => {
    const summary = coverage.createCoverageSummary();
    for (const file of all.files()) {
      if (files.test(relative(root, file).replaceAll("\\", "/"))) summary.merge(all.fileCoverageFor(file).toSummary());
    }
    return Object.entries(numbers)
      .filter(([what, least]) => summary[what].pct < least)
      .map(([what, least]) => `Coverage of ${what} in ${files}: ${summary[what].pct} %, which is less than ${least} %`);
  });
}

const counts = counted();
const all = coverage.createCoverageMap();
for (const file of await compiled()) all.merge(await mapOf(file, counts));
const context = createContext({ dir: join(root, ".cache/coverage"), coverageMap: all });
for (const kind of ["text-summary", "html", "json-summary"])
  reports.create(kind, { projectRoot: root }).execute(context);
for (const line of missing(all)) {
  process.stderr.write(`${line}\n`);
  process.exitCode = 1;
}
