import { DeliveryState } from "../../../../gen/parley/admin/v1/admin_pb.js";
import type { Tone } from "../../ui/parts.js";

/** Names a push configuration. */
export interface DeliveryKey {
  readonly taskId: string;
  readonly configId: string;
}

/** Returns the key as the address of the page has it. Ids of tasks have no slash. */
export const textOfKey = ({ taskId, configId }: DeliveryKey): string => `${taskId}/${configId}`;

export function keyIn(text: string | undefined): DeliveryKey | undefined {
  const [, taskId, configId] = /^([^/]+)\/(.+)$/.exec(text ?? "") ?? [];
  return taskId === undefined || configId === undefined ? undefined : { taskId, configId };
}

/** States in the order in which a filter offers them. */
export const deliveryStates: readonly DeliveryState[] = [DeliveryState.DEAD, DeliveryState.DUE, DeliveryState.IDLE];

export function statesIn(text: string | undefined): DeliveryState[] {
  const names = new Set(text?.split(","));
  return deliveryStates.filter((state) => names.has(DeliveryState[state]));
}

export const tones: Partial<Record<DeliveryState, Tone>> = {
  [DeliveryState.DEAD]: "bad",
  [DeliveryState.DUE]: "busy",
  [DeliveryState.IDLE]: "good",
};
