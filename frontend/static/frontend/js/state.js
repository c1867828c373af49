/**
 * The fleet as the browser holds it: one byte a node for condition and use, one job index a node.
 *
 * A snapshot replaces everything; a delta carries absolute values, so applying one twice is harmless.
 * Per rack, `busy` counts the nodes that are not free, so that whole free racks are known without a scan.
 */

const NO_JOB = -1;
const OPEN = "open";

const bytes = (text) => Uint8Array.from(atob(text), (char) => char.charCodeAt(0));

export class FleetState {
  constructor(palette) {
    this.conditions = palette.condition.map((state) => state.value);
    this.uses = palette.use.map((state) => state.value);
    const code = (value) => this.uses.indexOf(value);
    this.freeUses = new Set(["reserved", "spare", "stranded", "idle"].map(code));
    this.emptyUses = new Set(["spare", "stranded", "idle"].map(code));
    this.healthy = this.conditions.indexOf("healthy");
    this.seq = -1;
    this.epoch = "";
  }

  load(snapshot) {
    Object.assign(this, {
      epoch: snapshot.epoch,
      seq: snapshot.seq,
      cluster: snapshot.cluster,
      blocks: snapshot.blocks,
      racks: snapshot.racks,
      nodes: snapshot.nodes,
      domains: snapshot.domains,
      nodeDomain: snapshot.node_domain,
      condition: bytes(snapshot.condition),
      use: bytes(snapshot.use),
      jobs: snapshot.jobs.slice(),
      nodeJob: Int32Array.from(snapshot.node_job),
    });
    this.#meta(snapshot);
    this.jobIndex = new Map(this.jobs.map((job, index) => [job, index]));
    this.nodesOfJob = new Map();
    this.hueOfJob = [];
    this.nodeJob.forEach((job, node) => this.#join(node, job));
    this.rackOf = new Uint32Array(this.nodes.length);
    this.busy = new Uint32Array(this.racks.length);
    this.racks.forEach((rack, index) => {
      this.rackOf.fill(index, rack.first, rack.first + rack.count);
      for (let node = rack.first; node < rack.first + rack.count; node += 1) {
        if (!this.emptyUses.has(this.use[node])) this.busy[index] += 1;
      }
    });
  }

  /** Takes one delta; returns the indices of the nodes whose look or owner changed. */
  apply(delta) {
    const changed = [];
    for (const [node, condition, use, job] of delta.nodes) {
      if (this.#set(node, condition, use, this.#jobAt(job))) changed.push(node);
    }
    this.seq = delta.to;
    this.epoch = delta.epoch;
    this.#meta(delta);
    return changed;
  }

  #meta(frame) {
    if (frame.counts) this.counts = frame.counts;
    if (frame.job_counts) this.jobCounts = frame.job_counts;
    if (frame.clock) this.clock = frame.clock;
    if ("fleet" in frame) this.fleet = frame.fleet;
    if (frame.rack_states) this.rackStates = frame.rack_states;
  }

  #set(node, condition, use, job) {
    const same = this.condition[node] === condition && this.use[node] === use && this.nodeJob[node] === job;
    if (same || node >= this.nodes.length) return false;
    const rack = this.rackOf[node];
    this.busy[rack] += this.emptyUses.has(this.use[node]) - this.emptyUses.has(use);
    this.condition[node] = condition;
    this.use[node] = use;
    if (this.nodeJob[node] !== job) {
      this.nodesOfJob.get(this.nodeJob[node])?.delete(node);
      this.nodeJob[node] = job;
      this.#join(node, job);
    }
    return true;
  }

  #join(node, job) {
    if (job === NO_JOB) return;
    if (!this.nodesOfJob.has(job)) this.nodesOfJob.set(job, new Set());
    this.nodesOfJob.get(job).add(node);
  }

  #jobAt(name) {
    if (!name) return NO_JOB;
    let index = this.jobIndex.get(name);
    if (index === undefined) {
      index = this.jobs.push(name) - 1;
      this.jobIndex.set(name, index);
    }
    return index;
  }

  jobName(node) {
    return this.nodeJob[node] === NO_JOB ? "" : this.jobs[this.nodeJob[node]];
  }

  /** A number below `hues` for the job of a node, the same on every page and visit; -1 for none. */
  hue(node, hues) {
    const job = this.nodeJob[node];
    if (job === NO_JOB) return -1;
    this.hueOfJob[job] ??= (Number(this.jobs[job].replace(/\D/g, "")) || 0) % hues;
    return this.hueOfJob[job];
  }

  /** The nodes of a job by its name; empty for a job that holds none. */
  nodesOf(name) {
    return this.nodesOfJob.get(this.jobIndex.get(name)) ?? new Set();
  }

  /** Jobs that hold nodes now, in order of their id. */
  placedJobs() {
    const held = [...this.nodesOfJob].filter(([, nodes]) => nodes.size).map(([job]) => this.jobs[job]);
    return held.sort();
  }

  /** Which work a rack takes. */
  rackState(rack) {
    return this.rackStates[this.racks[rack].name] ?? OPEN;
  }

  /** Racks by what they take. */
  rackCounts() {
    const counts = { [OPEN]: this.racks.length };
    for (const state of Object.values(this.rackStates)) {
      counts[state] = (counts[state] ?? 0) + 1;
      counts[OPEN] -= 1;
    }
    return counts;
  }

  wholeFreeRacks() {
    return this.busy.reduce((sum, busy, rack) => sum + (busy === 0 && this.racks[rack].count > 0), 0);
  }

  /** Counts of one rack: its nodes by use and by condition, and the jobs on it. */
  rackSummary(index) {
    const { first, count } = this.racks[index];
    const use = new Array(this.uses.length).fill(0);
    const condition = new Array(this.conditions.length).fill(0);
    const jobs = new Set();
    for (let node = first; node < first + count; node += 1) {
      use[this.use[node]] += 1;
      condition[this.condition[node]] += 1;
      if (this.nodeJob[node] !== NO_JOB) jobs.add(this.jobs[this.nodeJob[node]]);
    }
    return { count, use, condition, jobs: [...jobs].sort() };
  }
}
