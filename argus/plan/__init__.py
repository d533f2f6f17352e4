"""A module becomes a plan of proved launches.

    graph ──decompose──▶ graph ──grouping──▶ groups ──planner──▶ Plan ──meaning──▶ float64, compared with `evaluate`
                                                                   └──runner──▶ proved launches on a device

    graph      a small typed graph; `argus.torch` makes it of a PyTorch module
    evaluate   its value in float64: the oracle
    grouping   which nodes become one launch: a head and the elementwise steps after it
    planner    templates, knobs, sizes and views; `products`, `maps`, `rows`, `norms`, `windows` lower one kind of head
    plan       the plan as data; `memory` gives temporaries their places

Nothing here needs torch.
"""
