import { InvalidArgumentError } from "commander";
import { type Delivery, DeliveryState } from "../../../gen/parley/admin/v1/admin_pb.js";
import type { Colour } from "../look.js";
import type { Cell, Column } from "../table.js";
import { moment } from "./format.js";

const colours: Readonly<Partial<Record<DeliveryState, Colour>>> = {
  [DeliveryState.DEAD]: "red",
  [DeliveryState.DUE]: "yellow",
};

export const deliveryColumns: readonly Column[] = [
  { title: "TASK" },
  { title: "CONFIG", min: 8 },
  { title: "STATE" },
  { title: "LEFT", right: true },
  { title: "TRIES", right: true },
  { title: "TARGET", min: 8 },
  { title: "FAILURE", min: 8 },
  { title: "AT" },
  { title: "OWNER" },
];

export function deliveryState(state: DeliveryState): string {
  return (DeliveryState[state] ?? String(state)).toLowerCase();
}

export function deliveryRow(delivery: Delivery): Cell[] {
  const { taskId, configId, state, position, headPosition, attempts, target, failure, at, owner } = delivery;
  const left = `${headPosition - position}`;
  const shown = { text: deliveryState(state), colour: colours[state] };
  return [taskId, configId, shown, left, `${attempts}`, target, failure, moment(at), owner];
}

/** Reads a state, and adds it to those before. */
export function deliveryStateOption(text: string, before: readonly DeliveryState[] = []): DeliveryState[] {
  const known = [DeliveryState.IDLE, DeliveryState.DUE, DeliveryState.DEAD];
  const state = known.find((each) => deliveryState(each) === text.toLowerCase());
  if (state === undefined) throw new InvalidArgumentError("It must be idle, due or dead.");
  return [...before, state];
}
