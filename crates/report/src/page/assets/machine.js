// The machine as boxes in boxes: sockets, nodes, LLCs, cores, CPUs. A CPU's color is its use.

async function drawMachine(place, chapter, turnsOf) {
  const all = recordedOf(chapter);
  const boxes = make("figure");
  let shown = all[0].index;
  const draw = async () => {
    const run = chapter.variants[shown].recorded;
    const turns = await turnsOf(shown);
    const from = run.measured_from_ns;
    const use = (cpu) => turns.useBetween(cpu, from, run.end_ns) / Math.max(1, run.end_ns - from);
    const { letter, name } = chapter.variants[shown];
    const caption = make("figcaption", {}, `${letter} ${name}`);
    boxes.replaceChildren(caption, machineBoxes(chapter.cpus, use));
  };
  const bar = make("div", { class: "tl-bar" });
  for (const { variant, index } of all) {
    const press = () => {
      shown = index;
      bar.querySelectorAll("button").forEach((b) => b.setAttribute("aria-pressed", b === button));
      draw();
    };
    const button = make(
      "button",
      { type: "button", class: "chooser", "aria-pressed": index === shown, onclick: press },
      `${variant.letter} ${variant.name}`,
    );
    bar.append(button);
  }
  place.append(bar, boxes, colorBar());
  redraws.push(draw);
  await draw();
}

function machineBoxes(cpus, use) {
  const colors = ramp();
  const everyCpu = cpus.map((_, cpu) => cpu);
  const ids = (members, column) => [...new Set(members.map((cpu) => cpus[cpu][column]))];
  const nested = (members, levels) => {
    const [column, name] = levels[0];
    return ids(members, column).map((id) => {
      const inside = members.filter((cpu) => cpus[cpu][column] === id);
      if (levels.length === 1) return coreBox(inside, use, colors);
      const content = make("div", { class: "inner" }, ...nested(inside, levels.slice(1)));
      const mean = inside.reduce((sum, cpu) => sum + use(cpu), 0) / inside.length;
      const label = make("span", { class: "label" }, `${name} ${id}: ${(mean * 100).toFixed(1)} %`);
      return make("div", { class: "box" }, label, content);
    });
  };
  let levels = [
    [0, "socket"],
    [1, "node"],
    [2, "LLC"],
    [3, "core"],
  ];
  // Boxes around a single box tell nothing.
  const sockets = ids(everyCpu, 0).length;
  if (ids(everyCpu, 1).length === sockets) levels = levels.filter(([column]) => column !== 1);
  return make("div", { class: "inner" }, ...nested(everyCpu, levels));
}

function coreBox(cpus, use, colors) {
  const cell = (cpu) => {
    const share = use(cpu);
    const color = colors[Math.round(clamp(share, 0, 1) * 255)];
    // Dark letters on bright colors.
    const bright = color[0] * 0.3 + color[1] * 0.59 + color[2] * 0.11 > 140;
    const style = `background: rgb(${color}); color: ${bright ? "#111" : "#fff"}`;
    return make(
      "span",
      { class: "cpu", style, title: `CPU ${cpu}: ${(share * 100).toFixed(1)} % busy` },
      `${cpu}`,
    );
  };
  return make("span", { class: "core" }, ...cpus.map(cell));
}
