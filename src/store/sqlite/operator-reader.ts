import { yieldToEventLoop } from "../../core/event-loop.js";
import { isTerminal } from "../../task/state.js";
import { DEAD, DUE } from "../deliveries.js";
import { type HeadRow, toHead } from "../head-rows.js";
import { CENSUS_LIMIT, type Census } from "../operator-store.js";
import { compareHeadKeys, headKeyOf, headsPage, type KeyRange, rangeOf } from "../order.js";
import type { Request } from "../request.js";
import { STATES, TERMINAL } from "../states.js";
import type { ContextSummary, ContextsPage, HeadsPage, OwnerUsage, TaskHead, TaskScope } from "../task-store.js";
import type { Database } from "./driver/driver.js";
import {
  globalPage,
  keyAt,
  leasedPage,
  newerInContext,
  ownersPage,
  type Pair,
  pairPage,
  type Statement,
} from "./operator-list.js";
import { isOfAll, pairsOf } from "./operator-scopes.js";

/** Tasks that one step examines, and the number of steps of one page. */
export const examined = { step: 10_000, steps: 10, contexts: 2_000 };

/** Owners whose usage one step reads. */
const OWNERS_STEP = 100;

const upTo = (index: string, where: string): string =>
  `(SELECT count(*) FROM (SELECT 1 FROM ${index} WHERE ${where} LIMIT ${CENSUS_LIMIT}))`;

/** Counts of a file: open and interrupted tasks; due, held and dead deliveries. */
const CENSUS =
  `SELECT (SELECT coalesce(sum(tasks), 0) FROM counter WHERE state NOT IN (${TERMINAL})), ` +
  `${upTo("head INDEXED BY head_interrupted", "state IN (6, 8)")}, ` +
  `${upTo("push_config INDEXED BY push_due", `state = ${DUE} AND holder IS NULL`)}, ` +
  `${upTo("push_config INDEXED BY push_held", "holder IS NOT NULL")}, ` +
  upTo("push_config INDEXED BY push_dead", `state = ${DEAD}`);

type Usage = [tenant: string, owner: string, tasks: number, openTasks: number];

/** Runs a query on one consistent view of the data. */
type InReadTransaction = <T>(method: string, query: () => T) => T;

/** Reads for operators, on the connection of the `Reader`. Long ones are read in steps with other work between them. */
export class OperatorReader {
  readonly #db: Database;
  readonly #inReadTransaction: InReadTransaction;

  constructor(db: Database, inReadTransaction: InReadTransaction) {
    this.#db = db;
    this.#inReadTransaction = inReadTransaction;
  }

  async listHeads(request: Request<"listHeads">): Promise<HeadsPage> {
    const states = request.states === undefined || request.states.length === 0 ? STATES : [...new Set(request.states)];
    const range = rangeOf(request);
    const pairs = this.#inReadTransaction("listHeads", () => pairsOf(this.#db, request));
    if (pairs !== undefined) return this.#merged(pairs, states, range, request.limit);
    if (isOfAll(request)) {
      const heads = this.#inReadTransaction("listHeads", () =>
        this.#heads(globalPage({}, states, range, request.limit)),
      );
      return headsPage(heads, request.limit);
    }
    return this.#examined(request, states, range);
  }

  async listContexts(request: Request<"listContexts">): Promise<ContextsPage> {
    const contexts: ContextSummary[] = [];
    let { after } = request;
    for (let seen = 0; seen < examined.contexts; ) {
      const page = await this.listHeads({ ...request, after, limit: Math.min(request.limit, OWNERS_STEP) });
      for (const head of page.heads) {
        after = head;
        const found = this.#inReadTransaction("listContexts", () =>
          this.#isNewest(head) ? this.#context(head) : undefined,
        );
        if (found !== undefined) contexts.push(found);
        if (contexts.length === request.limit) return { contexts, next: headKeyOf(head) };
      }
      if (page.next === undefined) return { contexts };
      after = page.next;
      seen += Math.max(1, page.heads.length);
      await yieldToEventLoop();
    }
    return { contexts, next: after && headKeyOf(after) };
  }

  async listOwners({ tenant, after, limit }: Request<"listOwners">): Promise<readonly OwnerUsage[]> {
    const owners: OwnerUsage[] = [];
    for (let last = after; owners.length < limit; await yieldToEventLoop()) {
      const wanted = Math.min(OWNERS_STEP, limit - owners.length);
      const found = this.#inReadTransaction("listOwners", () => {
        const { sql, values } = ownersPage({ tenant, after: last, limit: wanted });
        const rows = this.#db.rows<Usage>(sql).all(...values);
        return rows.map(([of, owner, tasks, openTasks]) => this.#usage({ tenant: of, owner }, tasks, openTasks));
      });
      owners.push(...found);
      if (found.length < wanted) break;
      last = found.at(-1);
    }
    return owners;
  }

  listLeased(request: Request<"listLeased">): readonly TaskHead[] {
    return this.#inReadTransaction("listLeased", () => this.#heads(leasedPage(request)));
  }

  census(): Omit<Census, "bytes"> {
    const counts = this.#inReadTransaction("census", () =>
      this.#db.rows<[number, number, number, number, number]>(CENSUS).get(),
    );
    const [openTasks, interrupted, due, held, dead] = counts ?? [0, 0, 0, 0, 0];
    return { openTasks, interrupted, due: Math.min(due + held, CENSUS_LIMIT), dead };
  }

  /** Merges the pages of a few owners. */
  #merged(pairs: readonly Pair[], states: readonly number[], range: KeyRange, limit: number): HeadsPage {
    const heads = this.#inReadTransaction("listHeads", () =>
      pairs.flatMap((pair) => this.#heads(pairPage(pair, states, range, limit))),
    );
    if (pairs.length > 1) heads.sort((a, b) => compareHeadKeys(b, a));
    return headsPage(heads.slice(0, limit), limit);
  }

  /** Filters the list of all owners, as far as one page may go. */
  async #examined(request: Request<"listHeads">, states: readonly number[], range: KeyRange): Promise<HeadsPage> {
    const heads: TaskHead[] = [];
    let { before } = range;
    for (let steps = 0; steps < examined.steps; steps++) {
      const wanted = request.limit - heads.length;
      const end = this.#inReadTransaction("listHeads", () => {
        const key = this.#one<[number, string]>(keyAt(states, { ...range, before }, examined.step));
        const from = key === undefined ? range.from : { statusTime: key[0], taskId: key[1] };
        heads.push(...this.#heads(globalPage(request, states, { before, from }, wanted)));
        return key === undefined ? undefined : from;
      });
      if (heads.length === request.limit) return headsPage(heads, request.limit);
      if (end === undefined) return { heads };
      before = end;
      await yieldToEventLoop();
    }
    return { heads, next: before };
  }

  /** True if no other task of its context comes before this one in the order. */
  #isNewest(head: TaskHead): boolean {
    return this.#one(newerInContext(head)) === undefined;
  }

  #context({ contextId, tenant, owner, statusTime }: TaskHead): ContextSummary {
    const place = "tenant = ? AND owner = ? AND context_id = ?";
    const counters = this.#db.rows<[number, number]>(`SELECT state, tasks FROM context_counter WHERE ${place}`);
    const known = counters.all(tenant, owner, contextId);
    // A small context has no counters.
    const along =
      "SELECT state, count(*) FROM head INDEXED BY head_by_context WHERE context_id = ? AND tenant = ? AND owner = ?";
    const counted =
      known.length > 0
        ? known
        : this.#db.rows<[number, number]>(`${along} GROUP BY state`).all(contextId, tenant, owner);
    const size = this.#db.rows<[number]>(`SELECT length(bytes) FROM conversation WHERE ${place}`);
    const stateBytes = size.get(tenant, owner, contextId)?.[0] ?? 0;
    const tasks = counted.reduce((sum, [, count]) => sum + count, 0);
    const openTasks = counted.reduce((sum, [state, count]) => (isTerminal(state) ? sum : sum + count), 0);
    return { contextId, tenant, owner, tasks, openTasks, statusTime, stateBytes };
  }

  #usage({ tenant, owner }: TaskScope, tasks: number, openTasks: number): OwnerUsage {
    const configs = this.#db.rows<[number]>("SELECT configs FROM push_owner WHERE tenant = ? AND owner = ?");
    const pushConfigs = configs.get(tenant, owner)?.[0] ?? 0;
    const [newest] = this.#heads(pairPage({ tenant, owner }, STATES, rangeOf({}), 1));
    const statusTime = newest?.statusTime ?? 0;
    return { tenant, owner, tasks, openTasks, pushConfigs, statusTime };
  }

  #heads({ sql, values }: Statement): TaskHead[] {
    return this.#db
      .rows<HeadRow>(sql)
      .all(...values)
      .map(toHead);
  }

  #one<R extends readonly unknown[]>({ sql, values }: Statement): R | undefined {
    return this.#db.rows<R>(sql).get(...values);
  }
}
