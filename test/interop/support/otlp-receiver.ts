import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** A value of an attribute in OTLP's JSON. */
type AnyValue = Record<string, unknown>;

/** A received span. Ids are hexadecimal; a root span has an empty parent id. */
export interface ReceivedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number;
  readonly attributes: readonly { readonly key: string; readonly value: AnyValue }[];
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status?: { readonly code?: number; readonly message?: string };
}

/** A point of a metric: a number, or a histogram. */
interface ReceivedPoint extends Pick<ReceivedSpan, "attributes"> {
  readonly asDouble?: number;
  readonly count?: number | string;
  readonly sum?: number;
  readonly bucketCounts?: readonly (number | string)[];
  readonly explicitBounds?: readonly number[];
}

/** The points of a metric. Temporality 2 is cumulative. */
interface ReceivedPoints {
  readonly aggregationTemporality?: number;
  readonly isMonotonic?: boolean;
  readonly dataPoints: readonly ReceivedPoint[];
}

/** A received metric with its points. */
export interface ReceivedMetric {
  readonly name: string;
  readonly unit: string;
  readonly description: string;
  readonly sum?: ReceivedPoints;
  readonly gauge?: ReceivedPoints;
  readonly histogram?: ReceivedPoints;
}

interface Export {
  readonly resourceMetrics?: readonly {
    readonly scopeMetrics: readonly { readonly metrics: readonly ReceivedMetric[] }[];
  }[];
}

/** An OTLP receiver over HTTP with JSON, for metrics. */
export class OtlpReceiver {
  /** The metrics of the last export. */
  metrics: readonly ReceivedMetric[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<OtlpReceiver> {
    const server = createServer();
    const receiver = new OtlpReceiver(server);
    server.on("request", async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const text = Buffer.concat(chunks).toString();
      const { resourceMetrics } = JSON.parse(text) as Export;
      if (resourceMetrics !== undefined) {
        receiver.metrics = resourceMetrics.flatMap(({ scopeMetrics }) =>
          scopeMetrics.flatMap(({ metrics }) => metrics),
        );
      }
      response.setHeader("content-type", "application/json");
      response.end("{}");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

/** Attributes by their keys. */
export function attributesOf({ attributes }: Pick<ReceivedSpan, "attributes">): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, plainValue(value)]));
}

/** OTLP writes integers as text, like Protobuf's JSON, but some exporters write numbers. */
function plainValue(value: AnyValue): unknown {
  return "intValue" in value ? Number(value.intValue) : Object.values(value)[0];
}

/** Spans whose parent was not received. @param foreign ids of other programs' spans */
export function dangling(spans: readonly ReceivedSpan[], foreign: readonly string[] = []): ReceivedSpan[] {
  const known = new Set([...spans.map(({ spanId }) => spanId), ...foreign, "", undefined]);
  return spans.filter(({ parentSpanId }) => !known.has(parentSpanId));
}
