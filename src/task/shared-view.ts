import type { Task } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { defined } from "../core/members.js";
import { LARGE_BYTES, mark } from "../wire/marks.js";
import { cacheForms } from "../wire/serialization-cache.js";
import { type TaskFold, type View, viewTask } from "./fold.js";

/** Maximum number of views cached per fold and position. */
const maxViews = 16;

/** The views of a fold at a position, cached while they are read. They keep the fold alive. */
interface CachedViews {
  readonly fold: TaskFold;
  readonly position: number;
  readonly views: Map<string, WeakRef<Task>>;
}

const shown = new WeakMap<TaskFold, CachedViews>();

/**
 * Returns a view of a fold's task that later entries do not change. A large one is shared by all readers of the same
 * position and view, and so is its serialized form.
 */
export function viewOf(fold: TaskFold, view: View = {}): Task {
  const bytes = view.artifacts === false ? fold.sizeWithoutArtifacts : fold.size;
  const nothing = view.artifacts === false && view.historyLength === 0;
  return bytes < LARGE_BYTES || nothing ? viewTask(fold.task, view) : sharedView(fold, view, bytes);
}

function sharedView(fold: TaskFold, view: View, bytes: number): Task {
  const { historyLength = "all", artifacts = true } = view;
  const key = `${historyLength} ${artifacts}`;
  const at = shownAt(fold);
  const known = at.views.get(key)?.deref();
  if (known !== undefined) return known;
  const task = mark(cacheForms(viewTask(fold.task, view)), { weight: { bytes, source: at } });
  at.views.set(key, new WeakRef(task));
  if (at.views.size > maxViews) at.views.delete(defined(at.views.keys().next().value));
  return task;
}

function shownAt(fold: TaskFold): CachedViews {
  const { position } = fold;
  let at = shown.get(fold);
  if (at?.position !== position) {
    at = { fold, position, views: new Map() };
    shown.set(fold, at);
  }
  return at;
}
