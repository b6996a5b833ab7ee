import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { root } from "../../e2e/support/build.js";
import type { ReceivedSpan } from "./otlp-receiver.js";
import { cache, persistently, succeed } from "./tool.js";

interface Export {
  readonly resourceSpans?: readonly { readonly scopeSpans: readonly { readonly spans: readonly ReceivedSpan[] }[] }[];
}

/** The OpenTelemetry Collector's OTLP receiver, for traces. */
export class Collector {
  readonly spans: ReceivedSpan[] = [];
  /** All received data as text. */
  text = "";
  url = "";
  readonly #process: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#process = child;
  }

  /** Builds and starts the receiver. Needs Go 1.26 or later and access to Go modules. */
  static async start(): Promise<Collector> {
    mkdirSync(cache, { recursive: true });
    const program = join(cache, "otlp");
    const cwd = join(root, "test", "interop", "otlp");
    const build = ["build", "-mod=readonly", "-o", program, "."];
    await persistently(() => succeed("go", build, { cwd, limitMs: 540_000 }));
    const child = spawn(program, { stdio: ["ignore", "pipe", "inherit"] });
    const collector = new Collector(child);
    const lines = createInterface({ input: child.stdout });
    await new Promise<void>((resolve, reject) => {
      child.once("exit", (code) => reject(new Error(`The collector ended with ${code}.`)));
      lines.once("line", (url) => {
        collector.url = url;
        lines.on("line", (line) => collector.#take(line));
        resolve();
      });
    });
    return collector;
  }

  /** The spans of a trace. */
  of(traceId: string): ReceivedSpan[] {
    return this.spans.filter((span) => span.traceId === traceId);
  }

  stop(): void {
    this.#process.kill();
  }

  #take(line: string): void {
    this.text += line;
    const { resourceSpans = [] } = JSON.parse(line) as Export;
    for (const { scopeSpans } of resourceSpans) for (const { spans } of scopeSpans) this.spans.push(...spans);
  }
}
