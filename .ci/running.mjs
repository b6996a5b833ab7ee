import { appendFileSync, writeFileSync } from "node:fs";
import { relative } from "node:path";
import { stripVTControlCharacters } from "node:util";

/** An error in one line, without colours. */
const oneLine = (text) => stripVTControlCharacters(text).replaceAll(/\s+/g, " ").slice(0, 500);

/**
 * Keeps in a file what tests and hooks are under way, one a line, so that whoever has to end a run that hangs can say what hung: a
 * reporter of Vitest, with the path of its file in `CI_CHECK_RUNNING`. At the end the file holds the errors that no test has caught.
 * Tests that passed at a second try are added to the file in `CI_CHECK_RETRIED`, each with the error of its first one.
 */
export default class Running {
  #file = process.env.CI_CHECK_RUNNING;
  #retried = process.env.CI_CHECK_RETRIED;
  /** What each test file does now. */
  #now = new Map();

  onTestModuleQueued(file) {
    this.#now.set(file.moduleId, "");
    this.#set(file, "is loaded");
  }

  onTestModuleStart(file) {
    this.#set(file, "has begun");
  }

  onTestCaseReady(test) {
    this.#set(test.module, test.fullName);
  }

  onTestCaseResult(test) {
    this.#set(test.module, `after: ${test.fullName}`);
    const { state, errors = [] } = test.result();
    if (this.#retried === undefined || state !== "passed" || !test.diagnostic()?.retryCount) return;
    const lines = [`${test.module.relativeModuleId}: ${test.fullName}`];
    for (const { message, stacks = [] } of errors.slice(0, 1)) {
      const places = stacks.map(({ file, line }) => `${relative(process.cwd(), file)}:${line}`);
      lines.push(`    ${oneLine(message)} (${places.join(", ")})`);
    }
    appendFileSync(this.#retried, `${lines.join("\n")}\n`);
  }

  onHookStart({ name, entity }) {
    this.#set(entity.type === "module" ? entity : entity.module, `${name} of ${entity.fullName ?? "the file"}`);
  }

  onTestModuleEnd(file) {
    this.#now.delete(file.moduleId);
    this.#write();
  }

  onTestRunEnd(_files, errors) {
    this.#now.clear();
    this.#now.set("", "its tests are over: it ends");
    // These fail a run without failing one of its tests.
    for (const [index, error] of errors.entries()) {
      this.#now.set(
        `error ${index}`,
        `an error outside of its tests: ${String(error.stack ?? error.message).slice(0, 1000)}`,
      );
    }
    this.#write();
  }

  /** What is told of a test may come after the end of its file. */
  #set(file, what) {
    if (!this.#now.has(file.moduleId)) return;
    this.#now.set(file.moduleId, `${file.relativeModuleId}: ${what}`);
    this.#write();
  }

  #write() {
    if (this.#file !== undefined) writeFileSync(this.#file, [...this.#now.values(), ""].join("\n"));
  }
}
