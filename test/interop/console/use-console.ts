import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { root } from "../../e2e/support/build.js";
import { closeWindows, launch } from "../browser/chromium.js";
import { type OpenedConsole, type OpenOptions, openConsole } from "./open.js";

const agentAt = (name: string): string => join(root, "test/fixtures/agents", name);

/** Sends content of every kind. */
export const contentAgent: string = agentAt("content.mjs");
/** Does the work of agents: steps, questions, delegations. */
export const workerAgent: string = agentAt("worker.mjs");

/** The browser of a test file, with its open console. Both exist after the hooks have run. */
export interface UsedConsole {
  readonly browser: Browser;
  readonly opened: OpenedConsole;
}

/** Opens one console for all tests of a file. */
export function useConsole(options: OpenOptions): UsedConsole {
  const used = useBrowser();
  beforeAll(async () => {
    used.opened = await openConsole(used.browser, options);
  });
  afterAll(() => used.opened?.close());
  return used as UsedConsole;
}

/** The consoles of a test file. */
export interface UsedConsoles extends UsedConsole {
  /** Closes the console after this test, so that the next one opens another. */
  spend(): void;
  /** Opens another console for this test, unless no other test has used the current one. */
  renew(): Promise<void>;
}

interface ConsolesOptions extends OpenOptions {
  /** True to keep a console for the next test, unless the test spent it or failed. */
  readonly isKept?: boolean;
}

/**
 * Opens a console for each test of a file. Fails a test if its page calls other hosts or reports errors.
 *
 * @param caused pattern of errors that the tests cause, by refused or cut requests
 */
export function useConsoles({ isKept = false, ...options }: ConsolesOptions, caused: RegExp): UsedConsoles {
  const used = useBrowser();
  let isSpent = false;
  let isNew = false;
  const close = async (): Promise<void> => {
    await used.opened?.close();
    delete used.opened;
  };
  beforeEach(async () => {
    isSpent = !isKept;
    isNew = used.opened === undefined;
    used.opened ??= await openConsole(used.browser, options);
  });
  afterEach(async ({ task }) => {
    const { opened } = used as UsedConsole;
    // A restarted server has another port.
    const foreign = opened.foreign.filter((url) => !url.startsWith("http://127.0.0.1:"));
    const faults = opened.faults.filter((fault) => !caused.test(fault));
    if (isSpent || foreign.length + faults.length > 0 || task.result?.state !== "pass") await close();
    expect(foreign).toEqual([]);
    expect(faults).toEqual([]);
  });
  afterAll(close);
  const spend = (): void => {
    isSpent = true;
  };
  const renew = async (): Promise<void> => {
    spend();
    if (isNew) return;
    await close();
    used.opened = await openConsole(used.browser, options);
  };
  return Object.assign(used as UsedConsole, { spend, renew });
}

function useBrowser(): { browser: Browser; opened?: OpenedConsole } {
  const used = {} as { browser: Browser; opened?: OpenedConsole };
  beforeAll(async () => {
    used.browser = await launch();
  });
  afterAll(() => closeWindows(used.browser));
  return used;
}
