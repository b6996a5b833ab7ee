import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import type { Agent } from "../../src/agent/agent.js";
import { artifact, working } from "../../src/agent/event.js";
import { neverCanceled } from "../../src/core/async.js";
import { cancelTimes } from "../../src/engine/run/cancel.js";
import type { Inquiry, SignalMember, Signals, Topic } from "../../src/signals/signals.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { Bench, gate, quick, scope, tell } from "../engine/support.js";
import { setConstants } from "../support/constants.js";

/** Signals of two processes, as their implementation connects them. */
export interface Connected {
  readonly one: Signals;
  readonly two: Signals;
  /** Sends a text as any other program can. */
  readonly stranger?: (text: string) => Promise<void>;
  /** Cuts all connections, and lets them be made again. */
  readonly cut?: () => Promise<void>;
}

/** Abilities that an implementation lacks. */
interface Traits {
  /** False where no other program can send anything. */
  readonly hasStrangers?: boolean;
  /** False without connections. */
  readonly canBeCut?: boolean;
}

const usage: Topic<number> = { name: "usage", read: (value) => (typeof value === "number" ? value : undefined) };

const half: Inquiry<number, number> = {
  name: "half",
  readQuestion: (value) => (typeof value === "number" ? value : undefined),
  readAnswer: (value) => (typeof value === "number" ? value : undefined),
};

/** Cases for every implementation of signals. */
export function signalCases(name: string, connect: () => Promise<Connected>, traits: Traits = {}): void {
  describe(`signals by ${name}`, () => {
    const opened: Signals[] = [];
    afterEach(async () => {
      for (const signals of opened.splice(0)) await signals.close();
    });

    /** Two members that hear each other. */
    async function members(): Promise<{ a: SignalMember; b: SignalMember; heard: string[] } & Connected> {
      const connected = await connect();
      const { one, two } = connected;
      opened.push(one, two);
      const [a, b] = [one.join("a"), two.join("b")];
      const heard: string[] = [];
      b.onChanged((ids) => heard.push(...ids));
      await hearEachOther(a, b, "b");
      return { ...connected, a, b, heard };
    }

    it("announce changes to the other process, and not to their own", async () => {
      const { a, heard } = await members();
      const own: string[] = [];
      a.onChanged((ids) => own.push(...ids));
      a.changed("one");
      a.changed("two");
      a.changed("one");
      await expect.poll(() => heard).toEqual(["one", "two"]);
      expect(own).toEqual([]);
    });

    it("announce ten thousand changes at once", async () => {
      const { a, heard } = await members();
      const ids = Array.from({ length: 10_000 }, (_, index) => `${index}-0197-7c3e-8a52-aaaaaaaaaaaa`);
      for (const id of ids) a.changed(id);
      await expect.poll(() => heard.length).toBe(10_000);
      expect(new Set(heard)).toEqual(new Set(ids));
    });

    it("leave out ids that are too long, and keep every character of the others", async () => {
      const { a, heard } = await members();
      const odd = ['"', "\\", "\n", "é", "任务", "😀", "a,b", "\ud800", "x".repeat(5_000), "任".repeat(2_000)];
      for (const id of [...odd, "y".repeat(2_000_000)]) a.changed(id);
      await expect.poll(() => heard.length).toBe(odd.length);
      expect(new Set(heard)).toEqual(new Set(odd));
    });

    it("broadcast the last value of a topic", async () => {
      const { a, b } = await members();
      const values: unknown[] = [];
      b.subscribe(usage, (value, from) => values.push([value, from]));
      for (let value = 1; value <= 100; value++) a.publish(usage, value);
      await expect.poll(() => values).toEqual([[100, "a"]]);
    });

    it("ask a member, and hear its answer", async () => {
      const { a, b } = await members();
      b.answer(half, async (question, from) => (from === "a" ? question / 2 : -1));
      expect(await Promise.all([a.ask("b", half, 4, 10_000), a.ask("b", half, 6, 10_000)])).toEqual([2, 3]);
    });

    it("answer nothing for a member that does not exist, does not answer or fails", async () => {
      const { a, b } = await members();
      b.answer(half, async () => {
        throw new Error("it fails");
      });
      const asked = ["b", "c", "strange name, .*>", ""].map((to) => a.ask(to, half, 4, 300));
      expect(await Promise.all(asked)).toEqual([undefined, undefined, undefined, undefined]);
    });

    it("send pending signals when the member leaves, and nothing after that", async () => {
      const { a, b, one, heard } = await members();
      b.answer(half, async (question) => question / 2);
      a.changed("last");
      a.leave();
      await one.close();
      a.changed("later");
      expect(await a.ask("b", half, 4, 10_000)).toBeUndefined();
      await expect.poll(() => heard).toEqual(["last"]);
    });

    const { hasStrangers = true, canBeCut = true } = traits;
    (hasStrangers ? it : none)("ignore what they do not understand, and what is repeated or outdated", async () => {
      const { a, b, heard, stranger } = await members();
      const values: number[] = [];
      b.subscribe(usage, (value) => values.push(value));
      let asked = 0;
      b.answer(half, async (question) => {
        asked++;
        return question / 2;
      });
      const question = '["p1","q","x","b","1","half",4]';
      const garbage = [
        "",
        "{",
        "null",
        "[]",
        '["p1"]',
        '["p1","c"]',
        '["p1","c",7,"t"]',
        '["p2","c","x","t"]',
        "\ufeff",
      ];
      const wrong = [
        '["p1","v","x",1,"usage","many"]',
        '["p1","v","x","1","usage",1]',
        '["p1","q","x","b","2","half","4"]',
      ];
      const name = "n".repeat(201);
      const long = [
        `["p1","q","${name}","b","4","half",4]`,
        `["p1","q","x","b","${name}","half",4]`,
        `["p1","v","${name}",1,"usage",33]`,
        `["p1","c","${name}","far"]`,
      ];
      const more = ['["p1","c","x",1,null,{"a":1},"real"]', '["p1","a","x","b","3",1]', "x".repeat(6_000)];
      const later = ['["p1","v","x",2,"usage",22]', '["p1","v","x",1,"usage",11]', '["p1","v","x",2,"usage",22]'];
      for (const text of [...garbage, ...wrong, ...long, ...more, ...later, question, question]) await stranger?.(text);
      a.changed("after");
      await expect.poll(() => heard).toContain("after");
      expect([...new Set(heard)]).toEqual(["real", "after"]);
      expect(values).toEqual([22]);
      expect(asked).toBe(1);
    });

    (canBeCut ? it : none)("continue after all connections were cut", async () => {
      const { a, b, heard, cut } = await members();
      b.answer(half, async (question) => question / 2);
      for (let round = 0; round < 2; round++) {
        await cut?.();
        heard.length = 0;
        await expect
          .poll(
            () => {
              a.changed("again");
              return heard.length;
            },
            { timeout: 30_000 },
          )
          .toBeGreaterThan(0);
        await expect.poll(() => a.ask("b", half, 4, 300), { timeout: 30_000 }).toBe(2);
      }
    });

    it("show a follower on one engine each event of the other without polling", async () => {
      const { one, two } = await members();
      const store = memoryStore({ shared: true });
      const held = gate();
      // Each engine polls by this.
      const heads = store.heads.bind(store);
      store.heads = (request) => held.opened.then(() => heads(request));
      const go = [gate(), gate(), gate()];
      const agent: Omit<Agent, "card"> = {
        async *execute() {
          yield working();
          for (const [index, { opened: next }] of go.entries()) {
            await next;
            yield artifact({ text: `a${index}` });
          }
        },
      };
      const [here, there] = [new Bench(agent, { signals: one }, store), new Bench(agent, { signals: two }, store)];
      await Promise.all([here.engine.start(), there.engine.start()]);
      const sent = await here.send("go");
      const followed = await there.engine.open(scope, sent.taskId);
      const told: string[] = [];
      const reading = (async () => {
        for await (const event of followed.events(followed.now(), neverCanceled)) told.push(tell(event));
      })();
      for (const [index, next] of go.entries()) {
        next.open();
        await expect.poll(() => told.length).toBeGreaterThan(index);
      }
      await reading;
      expect(told.filter((what) => / a\d/.test(what))).toHaveLength(3);
      held.open();
      await Promise.all([here.engine.drain(0), there.engine.drain(0)]);
    });

    it("bring a cancel to the engine that executes a task, whose agent has its grace period", async () => {
      const { one, two } = await members();
      const store = memoryStore({ shared: true });
      const agent: Omit<Agent, "card"> = {
        async *execute({ signal }) {
          yield working();
          await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
          await sleep(50);
          yield artifact({ name: "rest", text: "x" });
        },
      };
      const limits = { ...quick, cancelGraceMs: 20_000 };
      // On a busy machine the other process may take longer than a second to answer.
      setConstants(cancelTimes, { answerMs: 20_000 });
      const [here, there] = [
        new Bench(agent, { signals: one, limits }, store),
        new Bench(agent, { signals: two, limits }, store),
      ];
      await Promise.all([here.engine.start(), there.engine.start()]);
      const { taskId } = await here.send("go");
      // A carrier connects members some time after they join.
      const holder = (await store.head({ taskId }))?.lease?.holder;
      await hearEachOther(member(there), member(here), holder ?? "");
      const { task } = await there.engine.cancel(scope, taskId);
      expect(task.artifacts.map((each) => each.name)).toEqual(["rest"]);
      await Promise.all([here.engine.drain(0), there.engine.drain(0)]);
    });
  });
}

/** The member of an engine. */
function member({ engine: { signals } }: Bench): SignalMember {
  if (signals === undefined) throw new Error("the engine has joined no signals");
  return signals;
}

/** Leaves a case out. */
function none(_title: string, _work: () => Promise<void>): void {}

/** Asks if a member hears questions, and is heard. */
const probe: Inquiry<"hears", "heard"> = {
  name: "probe",
  readQuestion: () => "hears",
  readAnswer: () => "heard",
};

/** Waits until two members hear each other. Late questions do not affect any case. */
async function hearEachOther(asking: SignalMember, asked: SignalMember, name: string): Promise<void> {
  asked.answer(probe, async () => "heard");
  await expect.poll(() => asking.ask(name, probe, "hears", 300), { timeout: 30_000, interval: 20 }).toBe("heard");
}
