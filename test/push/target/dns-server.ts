import { createSocket, type RemoteInfo, type Socket } from "node:dgram";
import { promises as dns } from "node:dns";
import { isIPv4, isIPv6 } from "node:net";

/** Record of a name: an address, or the name that it is an alias of. */
export type DnsRecord = string;

/** Answer to a question: records, an error of DNS, or silence. */
export type DnsAnswer = readonly DnsRecord[] | "NXDOMAIN" | "SERVFAIL" | "silence";

const codes = { NXDOMAIN: 3, SERVFAIL: 2 } as const;
const types = { 1: "A", 28: "AAAA" } as Readonly<Record<number, "A" | "AAAA">>;

/** A DNS server on UDP whose answers a test sets question by question. */
export class DnsServer {
  readonly #socket: Socket;
  readonly #zone = new Map<string, DnsAnswer[]>();
  /** Every question: `A hooks.example.com`. */
  readonly asked: string[] = [];

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("message", (question, peer) => this.#answer(question, peer));
  }

  static async start(): Promise<DnsServer> {
    const socket = createSocket("udp4");
    await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
    return new DnsServer(socket);
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.#socket.close(() => resolve()));
  }

  /** A resolver that asks this server alone. */
  resolver({ timeout = 500, tries = 1 } = {}): dns.Resolver {
    const resolver = new dns.Resolver({ timeout, tries });
    resolver.setServers([`127.0.0.1:${this.#socket.address().port}`]);
    return resolver;
  }

  /**
   * Sets the answers for a name. Each of several answers serves one look-up (of A and AAAA); the last one serves all
   * later ones.
   */
  set(name: string, ...answers: DnsAnswer[]): void {
    this.#zone.set(name, answers);
  }

  /** Number of look-ups of a name. */
  lookups(name: string): number {
    return this.asked.filter((each) => each === `A ${name}`).length;
  }

  #answer(question: Buffer, { port, address }: RemoteInfo): void {
    const { name, end } = readName(question, 12);
    const type = types[question.readUInt16BE(end)] ?? "A";
    this.asked.push(`${type} ${name}`);
    const answers = this.#zone.get(name) ?? ["NXDOMAIN"];
    const turn = this.asked.filter((each) => each === `${type} ${name}`).length - 1;
    const answer = answers[Math.min(turn, answers.length - 1)] ?? "NXDOMAIN";
    if (answer === "silence") return;
    const records = typeof answer === "string" ? [] : this.#follow(name, answer, type);
    const head = Buffer.from(question.subarray(0, 12));
    head.writeUInt16BE(0x8180 | (typeof answer === "string" ? codes[answer] : 0), 2);
    head.writeUInt16BE(records.length, 6);
    head.writeUInt32BE(0, 8);
    this.#socket.send(Buffer.concat([head, question.subarray(12, end + 4), ...records]), port, address);
  }

  /** The records of a name, and those of the names that it leads to, as recursive servers give them. */
  #follow(name: string, answer: readonly DnsRecord[], type: "A" | "AAAA", depth = 0): Buffer[] {
    return answer.flatMap((value) => {
      if (isIPv4(value)) return type === "A" ? [record(name, 1, Buffer.from(value.split(".").map(Number)))] : [];
      if (isIPv6(value)) return type === "AAAA" ? [record(name, 28, bytesOf(value))] : [];
      const [next] = this.#zone.get(value) ?? [];
      const more = typeof next === "object" && depth < 12 ? this.#follow(value, next, type, depth + 1) : [];
      return [record(name, 5, writeName(value)), ...more];
    });
  }
}

function record(name: string, type: number, data: Buffer): Buffer {
  const head = Buffer.alloc(10);
  head.writeUInt16BE(type, 0);
  head.writeUInt16BE(1, 2);
  head.writeUInt16BE(data.length, 8);
  return Buffer.concat([writeName(name), head, data]);
}

function writeName(name: string): Buffer {
  const labels = name.split(".").map((label) => Buffer.concat([Buffer.of(label.length), Buffer.from(label, "latin1")]));
  return Buffer.concat([...labels, Buffer.of(0)]);
}

function readName(message: Buffer, start: number): { readonly name: string; readonly end: number } {
  const labels: string[] = [];
  let at = start;
  for (;;) {
    const length = message[at] ?? 0;
    if (length === 0) return { name: labels.join(".").toLowerCase(), end: at + 1 };
    labels.push(message.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
}

function bytesOf(address: string): Buffer {
  const [before = "", after] = address.split("::");
  const words = (text: string): number[] =>
    text === "" ? [] : text.split(":").map((word) => Number.parseInt(word, 16));
  const [first, last] = [words(before), words(after ?? "")];
  const all = [...first, ...new Array<number>(8 - first.length - last.length).fill(0), ...last];
  return Buffer.from(all.flatMap((word) => [word >> 8, word & 0xff]));
}
